//! What the comparison measured: figures by operation, tasks retained, and who did it, and their table.

use std::process::Command;

use serde_json::Value;

use crate::support::{median, ns};

/// The figures of one peer and of taskhold doing its work, in the order in which they came first.
#[derive(Default)]
pub struct Figures {
    /// The peer as it names itself, with its version.
    pub peer: String,
    rows: Vec<Row>,
}

struct Row {
    operation: String,
    retained: usize,
    measured: Vec<(String, f64)>,
}

impl Row {
    fn median_of(&self, who: &str) -> f64 {
        median(self.measured.iter().filter(|(w, _)| w == who).map(|(_, ns)| *ns).collect())
    }
}

impl Figures {
    pub fn add(&mut self, operation: &str, retained: usize, who: &str, ns: f64) {
        let is_it = |row: &&mut Row| row.operation == operation && row.retained == retained;
        let measured = (who.to_owned(), ns);
        match self.rows.iter_mut().find(is_it) {
            Some(row) => row.measured.push(measured),
            None => {
                self.rows.push(Row { operation: operation.to_owned(), retained, measured: vec![measured] });
            }
        }
    }

    /// Runs a peer's program and takes in the lines that it prints.
    pub fn add_from(&mut self, program: &mut Command) {
        let output = program.output().unwrap_or_else(|error| panic!("{program:?}: {error}"));
        let complaints = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{program:?}: {complaints}");
        for line in String::from_utf8(output.stdout).unwrap().lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            if let Some(peer) = line["peer"].as_str() {
                self.peer = peer.to_owned();
            } else {
                let text = |member: &str| line[member].as_str().unwrap().to_owned();
                let retained = usize::try_from(line["retained"].as_u64().unwrap()).unwrap();
                self.add(&text("operation"), retained, &text("who"), line["ns"].as_f64().unwrap());
            }
        }
    }

    /// Prints the medians: those of `peer`, a name and a heading, then those of taskhold's `columns`, each with how
    /// many times longer the peer takes.
    pub fn print(&self, title: &str, (peer, head): (&str, &str), columns: &[(&str, &str)]) {
        println!("\n{title}\n");
        let heads: String = columns.iter().map(|(_, head)| format!(" {head} | times |")).collect();
        println!("| operation | retained | {head} |{heads}");
        println!("|---|---|---|{}", "---|---|".repeat(columns.len()));
        for row in &self.rows {
            let peer = row.median_of(peer);
            let cells: String = columns
                .iter()
                .map(|(who, _)| row.median_of(who))
                .map(|figure| format!(" {} | x{} |", ns(figure), times(peer / figure)))
                .collect();
            println!("| {} | {} | {} |{cells}", row.operation, row.retained, ns(peer));
        }
    }
}

fn times(factor: f64) -> String {
    if factor < 10.0 { format!("{factor:.1}") } else { format!("{factor:.0}") }
}
