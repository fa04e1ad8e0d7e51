//! Findings as one HTML file that needs nothing else, not even a network.

use maud::{DOCTYPE, Markup, PreEscaped, html};
use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd, html as markdown};

use super::claims::{JudgedPaper, Verdict};
use super::drawing;
use super::figure::Figure;
use super::findings::{Criterion, Findings};
use super::grid::{Grid, Text};
use super::readme::without_block;
use super::table::Table;

const STYLE: &str = include_str!("page.css");

/// The page of all of them, with tables and figures, and of what became of the papers' claims.
pub fn page(all: &[Findings], papers: &[JudgedPaper]) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { "Published results, rebuilt" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { "Published results, rebuilt" }
                p {
                    "Simulated in virtual time by kirikae " (env!("CARGO_PKG_VERSION")) ". The same files, \
                     seeds and version give the same figures."
                }
                (overview(all))
                @for findings in all { (study(findings)) }
                @for paper in papers { (claims(paper)) }
            }
        }
    };
    page.into_string()
}

/// A line for each study.
fn overview(all: &[Findings]) -> Markup {
    html! {
        div.wide {
            table {
                thead {
                    tr {
                        th { "study" } th.words { "what" } th { "criteria met" } th { "missed" }
                        th { "set so" }
                    }
                }
                tbody {
                    @for findings in all {
                        @let (met, missed) = findings.met_and_missed();
                        tr {
                            th { a href={ "#" (findings.study) } { (findings.study) } }
                            td.words { (findings.about) }
                            td { (met) }
                            td.bad[!findings.agrees()] { (missed) }
                            td { (findings.set()) }
                        }
                    }
                }
            }
        }
        p.faint {
            "Set so: the scenarios were fitted to the very figure, which therefore shows nothing."
        }
    }
}

fn study(findings: &Findings) -> Markup {
    html! {
        section id=(findings.study) {
            h2 { (findings.study) ": " (findings.about) }
            p { (findings.source) }
            p { (findings.played) @if findings.short { " A short run, with few repetitions." } }
            h3 { "Criteria" }
            (criteria(&findings.criteria))
            @for it in &findings.figures { (figure(it)) }
            @for it in &findings.tables { (table(it)) }
            @if !findings.tables.is_empty() { p.faint { (LEGEND) } }
            (assumptions(&findings.readme))
        }
    }
}

/// The study's README: what is claimed and what had to be assumed. Its title and the table of what has to hold are
/// left out, since both stand above.
fn assumptions(readme: &str) -> Markup {
    let text = without_block(readme);
    let text = text.split_once("\n## ").map_or(String::new(), |(_, rest)| format!("## {rest}"));
    let text = without_empty(&text);
    let mut rendered = String::new();
    let events = Parser::new_ext(&text, Options::ENABLE_TABLES).filter_map(lowered);
    markdown::push_html(&mut rendered, events);
    PreEscaped(rendered)
}

/// A text without the sections that have nothing but a heading, such as that of a table which is left out.
fn without_empty(text: &str) -> String {
    let sections = text.split("\n## ").enumerate().map(|(place, section)| match place {
        0 => section.to_owned(),
        _ => format!("## {section}"),
    });
    let says = |section: &String| section.lines().skip(1).any(|line| !line.trim().is_empty());
    sections.filter(says).collect::<Vec<String>>().join("\n")
}

/// An event of a README as it is to stand on the page: headings stand below those of the page, and what refers to
/// other files is text.
fn lowered(event: Event<'_>) -> Option<Event<'_>> {
    Some(match event {
        Event::Start(Tag::Heading { id, classes, attrs, .. }) => {
            Event::Start(Tag::Heading { level: HeadingLevel::H4, id, classes, attrs })
        }
        Event::End(TagEnd::Heading(_)) => Event::End(TagEnd::Heading(HeadingLevel::H4)),
        Event::Start(Tag::Link { .. }) | Event::End(TagEnd::Link) => return None,
        other => other,
    })
}

/// What became of what a paper claims.
fn claims(paper: &JudgedPaper) -> Markup {
    html! {
        section {
            h2 { "Claims: " (paper.title) }
            p { (paper.summary()) "." }
            div.wide {
                table {
                    thead { tr { th { "where" } th.words { "claim" } th { "" } th.words { "by" } } }
                    tbody {
                        @for claim in &paper.claims {
                            tr {
                                th { (claim.place) }
                                td.words { (claim.what) }
                                td class=[claim.verdict.and_then(verdict_colour)] {
                                    (claim.verdict.map_or("not run".into(), |it| it.to_string()))
                                }
                                td.words {
                                    (claim.because)
                                    @if let Some(note) = &claim.note { div.faint { (note) } }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn verdict_colour(verdict: Verdict) -> Option<&'static str> {
    match verdict {
        Verdict::Reproduced => Some("good"),
        Verdict::Contradicted => Some("bad"),
        Verdict::Untested => None,
    }
}

fn criteria(criteria: &[Criterion]) -> Markup {
    let blocks = criteria.iter().any(|criterion| criterion.blocks.is_some());
    html! {
        div.wide {
            table.criteria {
                thead {
                    tr {
                        th { "what" } th { "found" } th { "of" } th { "asked" } th { "" }
                        @if blocks { th { "other seeds" } }
                    }
                }
                tbody {
                    @for criterion in criteria {
                        tr {
                            th {
                                (criterion.what)
                                @if let Some(why) = &criterion.why { div.faint { (why) } }
                            }
                            td { (criterion.found()) }
                            td { (criterion.of) }
                            td { (criterion.asked().unwrap_or_default()) }
                            td class=[criterion.met.map(colour)] { (criterion.verdict()) }
                            @if let Some(blocks) = &criterion.blocks { td { (blocks.told()) } }
                        }
                    }
                }
            }
        }
    }
}

fn figure(figure: &Figure) -> Markup {
    let panels = drawing::panels(figure);
    html! {
        figure {
            h3 { (figure.title) }
            figcaption { (figure.about) }
            ul.key {
                @for (svg, label) in drawing::key(figure) { li { (PreEscaped(svg)) (label) } }
            }
            div.panels.single[panels.len() == 1] {
                @for (panel, svg) in figure.panels.iter().zip(panels) {
                    div role="img" aria-label={ (figure.title) " " (panel.title) } {
                        @if !panel.title.is_empty() { h4 { (panel.title) } }
                        (PreEscaped(svg))
                    }
                }
            }
        }
    }
}

/// A table with more columns than this is wider than a sheet of paper that stands upright.
const UPRIGHT: usize = 9;
/// A table of no more rows than this is not torn apart by the end of a sheet.
const WHOLE: usize = 12;

fn table(table: &Table) -> Markup {
    let grid = Grid::new(table);
    html! {
        div.sheet.across[grid.header.len() > UPRIGHT].whole[grid.rows.len() <= WHOLE] {
            h3 { (table.title) }
            div.wide {
                table.figures {
                    thead { tr { @for heading in &grid.header { th { (heading) } } } }
                    tbody {
                        @for row in &grid.rows {
                            @let (heading, cells) = row.split_at(1);
                            tr {
                                th { (text(&heading[0])) }
                                @for cell in cells { td { (text(cell)) } }
                            }
                        }
                    }
                }
            }
            @if !grid.notes.is_empty() {
                ol.faint { @for note in &grid.notes { li { (note) } } }
            }
        }
    }
}

const LEGEND: &str = "\
In the tables: as printed; as simulated, mean and half of Student's 95 % interval; the difference, ✓ where it is as \
little as asked, ✗ where it is more, in brackets where nothing is asked.";

fn text(text: &Text) -> Markup {
    let last = text.lines.len().saturating_sub(1);
    html! {
        @for (place, line) in text.lines.iter().enumerate() {
            @if place > 0 { br; }
            @match text.agrees {
                Some(agrees) if place == last => {
                    span class=(colour(agrees)) { (line) @if agrees { " ✓" } @else { " ✗" } }
                }
                _ => (line),
            }
        }
        @if let Some(note) = text.note { sup { (note) } }
    }
}

fn colour(good: bool) -> &'static str {
    if good { "good" } else { "bad" }
}
