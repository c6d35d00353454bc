//! A schema that a newer version has changed, beside processes of this one; and stores in one database that do not
//! meet.

use taskhold::clock::Clock;
use taskhold::error::Reason;
use taskhold::store::Store;
use taskhold::task::TaskManager;

use crate::stores::postgres::{Schema, sql, url};

const CREATION: &str = r#"{"endpoint": "/mcp", "origin": {}}"#;

#[test]
fn a_newer_schema_is_refused_and_left_alone() {
    let schema = Schema::new();
    let open = || Store::open(Some(&url()), Some(&schema.options()), Clock::System);
    let older = open().unwrap();
    let tasks = TaskManager::open(&older, None).unwrap();
    tasks.create_task(CREATION).unwrap();
    let look = || sql(&format!("SELECT * FROM {}.taskhold_schema", schema.name));
    let version: u32 = sql(&format!("SELECT version FROM {}.taskhold_schema", schema.name)).parse().unwrap();
    sql(&format!("UPDATE {}.taskhold_schema SET version = {}", schema.name, version + 1));
    let newer = look();
    for _ in 0..3 {
        assert_eq!(open().err().expect("refused").reason(), Reason::SchemaTooNew);
    }
    assert_eq!(look(), newer, "nothing was changed");
}

#[test]
fn stores_in_two_schemas_do_not_meet() {
    let (one, other) = (Schema::new(), Schema::new());
    let open = |schema: &Schema| Store::open(Some(&url()), Some(&schema.options()), Clock::System).unwrap();
    let (mine, theirs) = (open(&one), open(&other));
    TaskManager::open(&mine, None).unwrap().create_task(CREATION).unwrap();
    assert!(mine.stats().unwrap().as_str().contains(r#""working":1"#));
    assert!(theirs.stats().unwrap().as_str().contains(r#""working":0"#));
}
