//! What a paper claims, item by item, and what became of it: reproduced, contradicted, or untested and why.

use std::fmt;
use std::path::Path;

use kirikae_scenario::Refusal;
use kirikae_settings::section::{Field, Section, Source};
use serde::Serialize;

use super::Study;
use super::findings::{Criterion, Findings, Spread};

/// The papers, in the order of docs/papers.md: each has a file of this name in studies/.
const PAPERS: [&str; 5] = [
    "oguchi-2016.toml",
    "fukuda-2019.toml",
    "chen-sasaki-2011.toml",
    "kozu-2014.toml",
    "tsukamoto-2003.toml",
];

/// A paper with what it claims.
#[derive(Clone, Debug)]
pub struct Paper {
    title: String,
    claims: Vec<Claim>,
}

/// Something that a paper says, defines or shows.
#[derive(Clone, Debug)]
struct Claim {
    place: String,
    what: String,
    evidence: Evidence,
    note: Option<String>,
}

/// By what a claim is judged.
#[derive(Clone, Debug)]
enum Evidence {
    /// Criteria of studies: reproduced where all of them are met, contradicted where one is missed.
    Criteria(Vec<Cited>),
    /// A file in the repository, a document with a place in it behind #, which shows it or the contrary.
    Shown { by: String, verdict: Verdict },
    /// By nothing, and why.
    Untested(String),
}

/// A criterion of a study.
#[derive(Clone, Debug)]
struct Cited {
    study: String,
    key: String,
    /// Where it is asked of several figures: those whose sentence has this text.
    of: Option<String>,
}

/// A paper with what became of its claims.
#[derive(Clone, Debug, Serialize)]
pub struct JudgedPaper {
    /// Who published it, what and when.
    pub title: String,
    /// In the order of the print.
    pub claims: Vec<JudgedClaim>,
}

/// A claim with what became of it.
#[derive(Clone, Debug, Serialize)]
pub struct JudgedClaim {
    /// Section, figure, table or equation.
    pub place: String,
    /// What the paper says there, in a line.
    pub what: String,
    /// None where studies that tell were not run, or not judged.
    pub verdict: Option<Verdict>,
    /// The figures that its criteria came to, or where it is shown, or why it is not.
    pub because: String,
    /// What a reader should know beside that.
    pub note: Option<String>,
}

/// What became of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It came out here as well.
    Reproduced,
    /// Something else came out.
    Contradicted,
    /// Nothing here tells.
    Untested,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Verdict::Reproduced => "reproduced",
            Verdict::Contradicted => "contradicted",
            Verdict::Untested => "untested",
        })
    }
}

/// Every paper, from a directory that holds the studies' directories.
///
/// # Errors
/// A file that is not there or is refused: a criterion that no study has, that asks nothing, or to which the
/// scenarios were set.
pub fn papers(from: &Path) -> Result<Vec<Paper>, Refusal> {
    PAPERS.iter().map(|file| Paper::load(from, &from.join(file))).collect()
}

impl Paper {
    /// What became of its claims by what was found.
    pub fn judged(&self, findings: &[Findings]) -> JudgedPaper {
        let judged = |claim: &Claim| JudgedClaim {
            place: claim.place.clone(),
            what: claim.what.clone(),
            verdict: claim.verdict(findings),
            because: claim.because(findings),
            note: claim.note.clone(),
        };
        JudgedPaper { title: self.title.clone(), claims: self.claims.iter().map(judged).collect() }
    }

    /// The files that show something, from the repository's root.
    pub fn shown_by(&self) -> impl Iterator<Item = &str> {
        self.claims.iter().filter_map(|claim| match &claim.evidence {
            Evidence::Shown { by, .. } => Some(by.as_str()),
            Evidence::Criteria(_) | Evidence::Untested(_) => None,
        })
    }

    fn load(studies: &Path, file: &Path) -> Result<Paper, Refusal> {
        let source = Source::read(file, "what a paper claims")?;
        let table = source.root()?;
        let root = Section::root(&source, &table, &[]);
        root.allow(&["title", "claim"])?;
        const CLAIMS: &str = "[[claim]] for each thing that the paper says";
        let claims = root.required("claim", CLAIMS)?.tables(CLAIMS)?;
        let claims = claims.iter().map(|claim| Claim::read(claim, studies));
        Ok(Paper {
            title: root.required("title", TEXT)?.text(TEXT)?.to_owned(),
            claims: claims.collect::<Result<_, _>>()?,
        })
    }
}

const TEXT: &str = "a text";
const EVIDENCE: &str = "one of criteria, shown-by and untested";

impl Claim {
    fn read(section: &Section, studies: &Path) -> Result<Claim, Refusal> {
        section.allow(&["place", "what", "criteria", "shown-by", "verdict", "untested", "note"])?;
        let text = |key| Ok::<_, Refusal>(section.required(key, TEXT)?.text(TEXT)?.to_owned());
        let optional = |key| section.optional(key);
        let evidence = match (optional("criteria"), optional("shown-by"), optional("untested")) {
            (Some(criteria), None, None) => {
                const CRITERIA: &str = "a list such as [\"handover/order\"]";
                let list = criteria.list(CRITERIA)?;
                let cited = list.iter().map(|each| Cited::read(each, studies));
                Evidence::Criteria(cited.collect::<Result<_, _>>()?)
            }
            (None, Some(by), None) => Evidence::Shown {
                by: by.text(TEXT)?.to_owned(),
                verdict: match section
                    .required("verdict", "reproduced or contradicted")?
                    .choice(&["reproduced", "contradicted"])?
                {
                    0 => Verdict::Reproduced,
                    _ => Verdict::Contradicted,
                },
            },
            (None, None, Some(why)) => Evidence::Untested(why.text(TEXT)?.to_owned()),
            (None, None, None) => {
                return Err(section.refuse_at("criteria", "missing required key", EVIDENCE));
            }
            _ => return Err(section.refuse_at("criteria", "two of them are given", EVIDENCE)),
        };
        let note = optional("note").map(|note| note.text(TEXT)).transpose()?.map(str::to_owned);
        Ok(Claim { place: text("place")?, what: text("what")?, evidence, note })
    }

    fn verdict(&self, findings: &[Findings]) -> Option<Verdict> {
        match &self.evidence {
            Evidence::Untested(_) => Some(Verdict::Untested),
            Evidence::Shown { verdict, .. } => Some(*verdict),
            Evidence::Criteria(cited) => {
                let each = cited.iter().map(|cited| cited.found(findings));
                let found: Vec<Vec<&Criterion>> = each.collect();
                let met = found.iter().flatten().map(|criterion| criterion.met);
                let met = met.collect::<Option<Vec<bool>>>()?;
                let is_whole = found.iter().all(|criteria| !criteria.is_empty());
                match met.iter().all(|met| *met) {
                    _ if !is_whole => None,
                    true => Some(Verdict::Reproduced),
                    false => Some(Verdict::Contradicted),
                }
            }
        }
    }

    fn because(&self, findings: &[Findings]) -> String {
        match &self.evidence {
            Evidence::Untested(why) => why.clone(),
            Evidence::Shown { by, .. } => by.clone(),
            Evidence::Criteria(cited) => {
                let each: Vec<String> = cited.iter().map(|cited| cited.told(findings)).collect();
                each.join("; ")
            }
        }
    }
}

impl JudgedPaper {
    /// How many of its claims have this verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.claims.iter().filter(|claim| claim.verdict == Some(verdict)).count()
    }

    /// How many were reproduced, contradicted and left untested, in words.
    pub fn summary(&self) -> String {
        let of = self.claims.len();
        let each = [Verdict::Reproduced, Verdict::Contradicted, Verdict::Untested];
        let each = each.map(|verdict| format!("{} {verdict}", self.count(verdict)));
        format!("{of} claims: {}", each.join(", "))
    }
}

impl Cited {
    fn read(field: &Field, studies: &Path) -> Result<Cited, Refusal> {
        const ALLOWED: &str = "a study and the key of a criterion that asks something to which its \
                               scenarios were not set, such as handover/order, or thesis-lte/gain: \
                               Train, low use";
        let refuse = || field.refuse(ALLOWED);
        let (cited, of) = match field.text(ALLOWED)?.split_once(": ") {
            Some((cited, of)) => (cited, Some(of.to_owned())),
            None => (field.text(ALLOWED)?, None),
        };
        let (study, key) = cited.split_once('/').ok_or_else(refuse)?;
        let definition = Study::named(study).ok_or_else(refuse)?.definition(studies)?;
        if !definition.asks(key) {
            return Err(refuse());
        }
        Ok(Cited { study: study.into(), key: key.into(), of })
    }

    /// What came out and what is asked; of several figures how many are as asked, and from where to where they go.
    fn told(&self, findings: &[Findings]) -> String {
        let found = self.found(findings);
        let name = format!("{}/{}", self.study, self.key);
        let Some(first) = found.first() else { return name };
        let asked = first.asked().unwrap_or_default();
        if found.len() == 1 {
            return format!("{name}: {} ({asked} asked)", first.found());
        }
        let values = found.iter().map(|criterion| criterion.value).collect();
        let met = found.iter().filter(|criterion| criterion.met == Some(true)).count();
        format!("{name}: {} ({asked} asked)", Spread { values, met: Some(met) }.told())
    }

    fn found<'a>(&self, findings: &'a [Findings]) -> Vec<&'a Criterion> {
        let own = findings.iter().filter(|findings| findings.study == self.study);
        let criteria = own.flat_map(|findings| &findings.criteria);
        let is_meant = |of: &String, it: &Criterion| it.what.contains(of.as_str());
        criteria
            .filter(|it| it.key == self.key && self.of.as_ref().is_none_or(|of| is_meant(of, it)))
            .collect()
    }
}
