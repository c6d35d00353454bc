//! RAW PG: one connection with prepared statements, over the table that the library has made.

use std::io::{Read, Write};
use std::net::TcpStream;

use bytes::BytesMut;
use postgres_protocol::IsNull;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use postgres_protocol::message::backend::Message;
use postgres_protocol::message::frontend;

pub struct Raw {
    stream: TcpStream,
    incoming: BytesMut,
    outgoing: BytesMut,
}

/// User, password, host and port, database.
fn parts(url: &str) -> (String, String, String, String) {
    let rest = url.split_once("://").unwrap().1.split('?').next().unwrap();
    let (user, rest) = rest.rsplit_once('@').unwrap();
    let (user, password) = user.split_once(':').unwrap_or((user, ""));
    let (host, database) = rest.split_once('/').unwrap();
    (user.to_owned(), password.replace("%40", "@").replace("%2F", "/"), host.to_owned(), database.to_owned())
}

impl Raw {
    pub fn connect(url: &str) -> Self {
        let (user, password, host, database) = parts(url);
        let stream = TcpStream::connect(host).unwrap();
        stream.set_nodelay(true).unwrap();
        let mut raw = Self { stream, incoming: BytesMut::new(), outgoing: BytesMut::new() };
        let parameters = [
            ("user", user.as_str()),
            ("database", &database),
            ("synchronous_commit", "off"),
            ("default_transaction_isolation", "read committed"),
        ];
        frontend::startup_message(parameters, &mut raw.outgoing).unwrap();
        raw.send();
        let mut scram: Option<ScramSha256> = None;
        loop {
            match raw.receive() {
                Message::AuthenticationSasl(_) => {
                    let begun = ScramSha256::new(password.as_bytes(), ChannelBinding::unsupported());
                    frontend::sasl_initial_response(SCRAM_SHA_256, begun.message(), &mut raw.outgoing)
                        .unwrap();
                    scram = Some(begun);
                    raw.send();
                }
                Message::AuthenticationSaslContinue(body) => {
                    let scram = scram.as_mut().unwrap();
                    scram.update(body.data()).unwrap();
                    frontend::sasl_response(scram.message(), &mut raw.outgoing).unwrap();
                    raw.send();
                }
                Message::ErrorResponse(_) => panic!("the server refuses the bench"),
                Message::ReadyForQuery(_) => return raw,
                _ => {}
            }
        }
    }

    pub fn prepare(&mut self, name: &str, sql: &str, types: &[u32]) {
        frontend::parse(name, sql, types.iter().copied(), &mut self.outgoing).unwrap();
        frontend::sync(&mut self.outgoing);
        self.send();
        self.finish();
    }

    /// Runs a prepared statement and gives how many bytes of rows came.
    pub fn run(&mut self, name: &str, values: &[&[u8]]) -> usize {
        let serialize = |value: &&[u8], buffer: &mut BytesMut| {
            buffer.extend_from_slice(value);
            Ok(IsNull::No)
        };
        frontend::bind("", name, Some(1), values, serialize, Some(1), &mut self.outgoing)
            .unwrap_or_else(|_| panic!("a bind"));
        frontend::execute("", 0, &mut self.outgoing).unwrap();
        frontend::sync(&mut self.outgoing);
        self.send();
        self.finish()
    }

    fn finish(&mut self) -> usize {
        let mut bytes = 0;
        loop {
            match self.receive() {
                Message::DataRow(body) => bytes += body.buffer().to_vec().len(),
                Message::ErrorResponse(error) => {
                    use fallible_iterator::FallibleIterator as _;
                    let words: Vec<String> = error
                        .fields()
                        .map(|f| Ok(String::from_utf8_lossy(f.value_bytes()).into_owned()))
                        .collect()
                        .unwrap();
                    panic!("{words:?}");
                }
                Message::ReadyForQuery(_) => return bytes,
                _ => {}
            }
        }
    }

    fn send(&mut self) {
        self.stream.write_all(&self.outgoing).unwrap();
        self.outgoing.clear();
    }

    fn receive(&mut self) -> Message {
        loop {
            if let Some(message) = Message::parse(&mut self.incoming).unwrap() {
                return message;
            }
            let length = self.incoming.len();
            self.incoming.resize(length + 16 * 1024, 0);
            let read = self.stream.read(&mut self.incoming[length..]).unwrap();
            assert!(read > 0, "the server has gone");
            self.incoming.truncate(length + read);
        }
    }
}
