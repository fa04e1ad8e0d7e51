//! Findings as one HTML file that needs nothing else, not even a network.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::drawing;
use super::figure::Figure;
use super::findings::{Criterion, Findings};
use super::grid::{Grid, Text};
use super::table::Table;

const STYLE: &str = include_str!("page.css");

/// The page of all of them, with tables and figures.
pub fn page(all: &[Findings]) -> String {
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
                     seeds and version give the same figures. What is claimed and what had to be assumed \
                     is in studies/, in the README.md of each study."
                }
                (overview(all))
                @for findings in all { (study(findings)) }
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
                thead { tr { th { "study" } th.words { "what" } th { "criteria met" } th { "missed" } } }
                tbody {
                    @for findings in all {
                        @let (met, missed) = findings.met_and_missed();
                        tr {
                            th { a href={ "#" (findings.study) } { (findings.study) } }
                            td.words { (findings.about) }
                            td { (met) }
                            td.bad[!findings.agrees()] { (missed) }
                        }
                    }
                }
            }
        }
    }
}

fn study(findings: &Findings) -> Markup {
    html! {
        section id=(findings.study) {
            h2 { (findings.study) ": " (findings.about) }
            p { (findings.source) }
            @if findings.short { p { "A short run, with few repetitions." } }
            h3 { "Criteria" }
            (criteria(&findings.criteria))
            @for it in &findings.figures { (figure(it)) }
            @for it in &findings.tables { (table(it)) }
            @if !findings.tables.is_empty() { p.faint { (LEGEND) } }
        }
    }
}

fn criteria(criteria: &[Criterion]) -> Markup {
    html! {
        div.wide {
            table {
                thead { tr { th { "what" } th { "found" } th { "of" } th { "asked" } th { "" } } }
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

fn table(table: &Table) -> Markup {
    let grid = Grid::new(table);
    html! {
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
