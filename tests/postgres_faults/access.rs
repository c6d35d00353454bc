//! Servers that cannot be reached, logins that are refused, rights that are missing, and TLS that is asked for: each is
//! said, and what was secret in the URL stands nowhere.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener};
use std::thread;
use std::time::{Duration, Instant};

use taskhold::a2a::StateProvider;
use taskhold::clock::Clock;
use taskhold::error::{Error, Reason, Status};
use taskhold::session::SessionStore;
use taskhold::store::Store;
use taskhold::task::TaskManager;

use crate::stores::postgres::{Address, Schema, certificate, sql, url};

const CREATION: &str = r#"{"endpoint": "/mcp", "origin": {}}"#;

fn open(address: &Address, schema: &Schema) -> Result<Store, Error> {
    Store::open(Some(&address.url()), Some(&schema.options()), Clock::System)
}

/// The error of an opening that is refused within a time.
fn refusal(address: &Address, within: Duration) -> Error {
    let begun = Instant::now();
    let error = open(address, &Schema::new()).err().expect("a refusal");
    assert!(begun.elapsed() < within, "it took {:?}", begun.elapsed());
    assert_keeps_secrets(address, &format!("{error:?} {error}"));
    error
}

/// What an address holds that nobody else should read.
fn assert_keeps_secrets(address: &Address, text: &str) {
    for secret in [&address.password, &address.password.replace("%40", "@").replace("%2F", "/")] {
        assert!(secret.len() > 8 && !text.contains(&**secret), "the password stands in {text}");
    }
    for part in [&address.host, &address.user, &address.database, &address.port.to_string()] {
        assert!(!text.contains(&format!("{part}:")) && !text.contains(&format!("@{part}")), "{text}");
    }
}

const SOON: Duration = Duration::from_secs(20);

#[test]
fn a_wrong_password_is_refused() {
    let mut address = Address::new();
    address.password = "another%2Fpassword".to_owned();
    assert_eq!(refusal(&address, SOON).status(), Status::Unavailable);
}

#[test]
fn an_unknown_user_is_refused() {
    let address = Address { user: "nobody_knows".to_owned(), ..Address::new() };
    assert_eq!(refusal(&address, SOON).status(), Status::Unavailable);
}

#[test]
fn an_unknown_database_is_refused() {
    let address = Address { database: "nobody_knows".to_owned(), ..Address::new() };
    assert_eq!(refusal(&address, SOON).status(), Status::Unavailable);
}

#[test]
fn an_unknown_host_is_refused() {
    // A name that no resolver may know.
    let address = Address { host: "host.invalid".to_owned(), ..Address::new() };
    assert_eq!(refusal(&address, SOON).status(), Status::Unavailable);
}

#[test]
fn a_port_where_nobody_listens_is_refused() {
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
    let address = Address { port, ..Address::new() };
    assert_eq!(refusal(&address, SOON).status(), Status::Unavailable);
}

/// What a listener hears that answers the first message of a connection with `answer`, until the client goes.
fn first_words(parameters: &str, answer: &'static [u8]) -> (Error, Vec<u8>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = Address {
        host: "localhost".to_owned(),
        port: listener.local_addr().unwrap().port(),
        parameters: parameters.to_owned(),
        ..Address::new()
    };
    let server = thread::spawn(move || {
        let mut heard = Vec::new();
        let (mut client, _) = listener.accept().unwrap();
        let mut first = [0; 8];
        client.read_exact(&mut first).unwrap();
        client.write_all(answer).unwrap();
        let _ = client.read_to_end(&mut heard);
        (first, heard)
    });
    let error = refusal(&address, SOON);
    let (first, heard) = server.join().unwrap();
    assert_eq!(first, [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f], "it asks for TLS first");
    (error, heard)
}

#[test]
fn tls_that_is_required_is_never_left_out() {
    for sslmode in ["require", "verify-ca", "verify-full"] {
        let parameters = format!("sslmode={sslmode}&sslrootcert={}", certificate());
        let (error, heard) = first_words(&parameters, b"N");
        assert_eq!(heard, b"", "{sslmode}: nothing follows in the clear");
        assert_eq!(error.status(), Status::Unavailable, "{sslmode}: {error:?}");
    }
}

#[test]
fn what_comes_in_the_clear_before_tls_is_not_read() {
    // A man in the middle could let the server's answer be followed by messages of his own.
    let parameters = format!("sslmode=require&sslrootcert={}", certificate());
    let (error, heard) = first_words(&parameters, b"SR\0\0\0\x08\0\0\0\0Z\0\0\0\x05I");
    assert!(!heard.windows(8).any(|window| window == b"taskhold"), "the login was sent");
    assert_eq!(error.status(), Status::Unavailable, "{error:?}");
}

fn with_tls(host: &str, parameters: &str) -> Address {
    Address { host: host.to_owned(), parameters: parameters.to_owned(), ..Address::new() }
}

#[test]
fn tls_is_used_and_the_server_checked_as_the_url_says() {
    let checked = |mode: &str| format!("sslmode={mode}&sslrootcert={}", certificate());
    for (host, parameters) in [
        ("localhost", checked("verify-full")),
        ("127.0.0.1", checked("verify-ca")),
        ("localhost", checked("require")),
    ] {
        let schema = Schema::new();
        let address = with_tls(host, &format!("{parameters}&application_name={}", schema.name));
        let store = open(&address, &schema).unwrap();
        TaskManager::open(&store, None).unwrap().create_task(CREATION).unwrap();
        let encrypted = sql(&format!(
            "SELECT DISTINCT s.ssl FROM pg_stat_ssl s JOIN pg_stat_activity a USING (pid) \
             WHERE a.application_name = '{}'",
            schema.name
        ));
        assert_eq!(encrypted, "t", "{host} {parameters}");
    }
    // The certificate names localhost.
    assert_eq!(refusal(&with_tls("127.0.0.1", &checked("verify-full")), SOON).status(), Status::Unavailable);
    // And is not signed by one that the system trusts.
    let system = with_tls("localhost", "sslmode=verify-full&sslrootcert=system");
    assert_eq!(refusal(&system, SOON).status(), Status::Unavailable);
}

#[test]
fn parameters_of_the_url_that_are_not_known_are_refused() {
    for parameters in ["sslmode=always", "sslmode=require&sslmod=disable", "hostaddr"] {
        let error = refusal(&with_tls("localhost", parameters), SOON);
        assert_eq!(error.status(), Status::InvalidArgument, "{parameters}: {error:?}");
    }
}

/// A role of its own for a test, with its password, and the address to log in with.
fn role(name: &str, rights: &str) -> Address {
    let name = format!("{name}_{}", std::process::id());
    let password = "another-secret";
    sql(&format!("CREATE ROLE {name} LOGIN PASSWORD '{password}'; {}", rights.replace("{role}", &name)));
    Address { user: name, password: password.to_owned(), ..Address::new() }
}

#[test]
fn a_role_that_may_not_create_is_refused_and_one_with_the_rows_alone_is_enough() {
    let schema = Schema::new();
    let stranger = role("stranger", "");
    let error = open(&stranger, &schema).err().expect("it may not create the schema");
    assert_eq!(error.status(), Status::Unavailable, "{error:?}");
    assert_keeps_secrets(&stranger, &format!("{error:?}"));

    // The owner sets the schema up; a server's role needs no more than the rows.
    let owner = Store::open(Some(&url()), Some(&schema.options()), Clock::System).unwrap();
    drop(TaskManager::open(&owner, None).unwrap());
    let name = &schema.name;
    let clerk = role(
        "clerk",
        &format!(
            "GRANT USAGE ON SCHEMA {name} TO {{role}}; \
             GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {name} TO {{role}}; \
             GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA {name} TO {{role}}"
        ),
    );
    let store = open(&clerk, &schema).unwrap();
    let tasks = TaskManager::open(&store, Some(r#"{"name": "another"}"#)).unwrap();
    tasks.create_task(CREATION).unwrap();
    SessionStore::open(&store, None).unwrap().create("/mcp", None).unwrap().unwrap();
    let task = r#"{"id": "a", "status": {"state": "completed"}}"#;
    StateProvider::open(&store, None).unwrap().save_task(None, task, Some(r#"{"event": 1}"#)).unwrap();
    let figures = format!("{}{}", store.stats().unwrap().as_str(), store.check().unwrap().as_str());
    assert!(figures.contains(r#""ok":true"#), "{figures}");
    assert_keeps_secrets(&clerk, &figures);
    // Rights that are taken away later are missed then, and it is said.
    sql(&format!("REVOKE ALL ON ALL TABLES IN SCHEMA {name} FROM {}", clerk.user));
    let error = tasks.create_task(CREATION).unwrap_err();
    assert_eq!(error.reason(), Reason::StorageUnavailable, "{error:?}");
    assert_keeps_secrets(&clerk, &format!("{error:?}"));
}

#[test]
fn a_role_that_only_reads_reads() {
    let schema = Schema::new();
    let owner = Store::open(Some(&url()), Some(&schema.options()), Clock::System).unwrap();
    let record = TaskManager::open(&owner, None).unwrap().create_task(CREATION).unwrap();
    let name = &schema.name;
    let reader = role(
        "reader",
        &format!(
            "GRANT USAGE ON SCHEMA {name} TO {{role}}; GRANT SELECT ON ALL TABLES IN SCHEMA {name} TO {{role}}; \
             ALTER ROLE {{role}} SET default_transaction_read_only = on"
        ),
    );
    let store = open(&reader, &schema).unwrap();
    let tasks = TaskManager::open(&store, None).unwrap();
    let id = serde_json::from_str::<serde_json::Value>(record.as_str()).unwrap()["task"]["taskId"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(tasks.find_task(&id).unwrap().unwrap().as_str(), record.as_str());
    let error = tasks.complete_task(&id, r#"{"content": []}"#, None, None).map(|_| ()).unwrap_err();
    assert_eq!(error.reason(), Reason::StorageUnavailable, "{error:?}");
    assert_eq!(tasks.find_task(&id).unwrap().unwrap().as_str(), record.as_str(), "nothing changed");
}
