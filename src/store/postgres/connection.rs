//! One connection to the server. What belongs together goes out in one write and is answered in one read: statements
//! are sent one behind another and the server works through them, so that a transaction costs one way there and back
//! for each time that its caller has to know something. A statement is prepared where it is first used, in the same
//! write.

#![forbid(unsafe_code)]

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{self, Read as _, Write as _};
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use fallible_iterator::FallibleIterator as _;
use postgres_protocol::authentication;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use postgres_protocol::message::backend::{ErrorResponseBody, Message};
use postgres_protocol::message::frontend;
use rustls::ClientConfig;

use super::fault::Fault;
use super::stream::Stream;
use super::url::Target;
use super::values::{Row, Values, values};

/// How much longer than a statement may take its answer is waited for: the server ends it before that.
const PATIENCE: Duration = Duration::from_secs(2);
/// What is read from the socket at once.
const READ_BYTES: usize = 16 * 1024;

/// A statement and its parameters.
pub(super) struct Query<'q> {
    sql: &'q str,
    values: Cow<'q, Values>,
}

impl<'q> Query<'q> {
    pub(super) const fn new(sql: &'q str, values: Values) -> Self {
        Self { sql, values: Cow::Owned(values) }
    }

    /// With parameters that may be needed again.
    pub(super) const fn of(sql: &'q str, values: &'q Values) -> Self {
        Self { sql, values: Cow::Borrowed(values) }
    }
}

pub(super) const COMMIT: Query<'static> = Query::new("COMMIT", Values::NONE);
pub(super) const ROLLBACK: Query<'static> = Query::new("ROLLBACK", Values::NONE);

/// What came of a statement.
#[derive(Default)]
pub(super) struct Answer {
    pub(super) rows: Vec<Row>,
    /// How many rows were changed; of a statement that gives rows, how many these are.
    pub(super) affected: u64,
}

/// How a connection is set up.
pub(super) struct Setup {
    pub(super) target: Target,
    pub(super) tls: Option<Arc<ClientConfig>>,
    /// The store's schema, as it stands before a table's name.
    pub(super) schema: Box<str>,
    pub(super) statement_timeout: Duration,
    /// Nothing is left with the connection between two transactions.
    pub(super) is_pooler_safe: bool,
}

impl Setup {
    /// A statement as the server reads it: `@name` is a table of the store.
    pub(super) fn expand(&self, sql: &str) -> String {
        sql.replace('@', &format!("{}.taskhold_", self.schema))
    }

    fn parameters(&self) -> Vec<(&str, String)> {
        let target = &self.target;
        let mut parameters = vec![
            ("user", target.user.clone()),
            ("database", target.database.clone()),
            ("client_encoding", "UTF8".to_owned()),
            ("application_name", target.application_name.clone()),
        ];
        if !self.is_pooler_safe {
            let timeout = self.statement_timeout.as_millis().to_string();
            // Whatever the server's defaults are: statements run alone at this level, and transactions say theirs.
            parameters.push(("default_transaction_isolation", "read committed".to_owned()));
            parameters.push(("default_transaction_read_only", "off".to_owned()));
            parameters.push(("idle_in_transaction_session_timeout", timeout.clone()));
            parameters.push(("statement_timeout", timeout));
            // Every statement has an index to go by, which the planner is not to pass over because a table was small
            // when it planned.
            for (setting, value) in [
                ("enable_seqscan", "off"),
                ("jit", "off"),
                ("max_parallel_workers_per_gather", "0"),
                ("plan_cache_mode", "force_generic_plan"),
            ] {
                parameters.push((setting, value.to_owned()));
            }
            if let Some(options) = &target.options {
                parameters.push(("options", options.clone()));
            }
        }
        parameters
    }
}

struct Prepared {
    name: Box<str>,
    types: Arc<[u32]>,
}

/// A connection that was authenticated.
pub(super) struct Connection {
    setup: Arc<Setup>,
    stream: Stream,
    incoming: BytesMut,
    outgoing: BytesMut,
    statements: HashMap<Box<str>, Prepared>,
    /// Of names that were given to statements.
    named: u64,
    /// What was sent and whose answer nobody has read yet.
    unanswered: usize,
    /// `I` outside a transaction.
    state: u8,
    is_broken: bool,
    notifications: Vec<String>,
}

impl Connection {
    /// Connects and authenticates.
    pub(super) fn open(setup: &Arc<Setup>) -> Result<Self, Fault> {
        let target = &setup.target;
        let stream = Stream::connect(&target.hosts, target.tls, setup.tls.as_ref(), target.connect_timeout)?;
        let mut connection = Self {
            setup: Arc::clone(setup),
            stream,
            incoming: BytesMut::new(),
            outgoing: BytesMut::new(),
            statements: HashMap::new(),
            named: 0,
            unanswered: 0,
            state: b'I',
            is_broken: false,
            notifications: Vec::new(),
        };
        let timeout = |_| Fault::Connect("the connection to the database server cannot be set up");
        connection.stream.set_timeout(Some(target.connect_timeout)).map_err(timeout)?;
        connection.start().map_err(|fault| match fault {
            Fault::Lost | Fault::NotSent | Fault::TimedOut => {
                Fault::Connect("the database server did not answer")
            }
            fault => fault,
        })?;
        connection.stream.set_timeout(Some(setup.statement_timeout + PATIENCE)).map_err(timeout)?;
        Ok(connection)
    }

    fn start(&mut self) -> Result<(), Fault> {
        let setup = Arc::clone(&self.setup);
        let parameters = setup.parameters();
        let parameters = parameters.iter().map(|(name, value)| (*name, value.as_str()));
        frontend::startup_message(parameters, &mut self.outgoing).map_err(|_| Fault::Protocol)?;
        self.send()?;
        self.authenticate()?;
        loop {
            match self.receive()? {
                Message::ReadyForQuery(ready) => {
                    self.state = ready.status();
                    return Ok(());
                }
                Message::ErrorResponse(error) => return Err(refused(&error)),
                Message::BackendKeyData(_) | Message::ParameterStatus(_) | Message::NoticeResponse(_) => {}
                _ => return Err(Fault::Protocol),
            }
        }
    }

    fn authenticate(&mut self) -> Result<(), Fault> {
        let setup = Arc::clone(&self.setup);
        let target = &setup.target;
        let password = || {
            let word = target.password.as_ref().map(|word| word.0.as_bytes());
            word.ok_or(Fault::Connect("the database server asks for a password and the URL has none"))
        };
        let mut scram: Option<ScramSha256> = None;
        loop {
            match self.receive()? {
                Message::AuthenticationOk => return Ok(()),
                Message::AuthenticationCleartextPassword => {
                    if !self.stream.is_private() {
                        return Err(Fault::Connect(
                            "the database server asks for the password in clear text over a connection without TLS",
                        ));
                    }
                    frontend::password_message(password()?, &mut self.outgoing)
                        .map_err(|_| Fault::Protocol)?;
                }
                Message::AuthenticationMd5Password(body) => {
                    let hash = authentication::md5_hash(target.user.as_bytes(), password()?, body.salt());
                    frontend::password_message(hash.as_bytes(), &mut self.outgoing)
                        .map_err(|_| Fault::Protocol)?;
                }
                Message::AuthenticationSasl(body) => {
                    let is_known = body.mechanisms().any(|name| Ok(name == SCRAM_SHA_256));
                    if !is_known.map_err(|_| Fault::Protocol)? {
                        return Err(Fault::Connect(
                            "the database server asks for a way to log in that is not known",
                        ));
                    }
                    let begun = ScramSha256::new(password()?, ChannelBinding::unsupported());
                    frontend::sasl_initial_response(SCRAM_SHA_256, begun.message(), &mut self.outgoing)
                        .map_err(|_| Fault::Protocol)?;
                    scram = Some(begun);
                }
                Message::AuthenticationSaslContinue(body) => {
                    let scram = scram.as_mut().ok_or(Fault::Protocol)?;
                    scram.update(body.data()).map_err(|_| Fault::Protocol)?;
                    frontend::sasl_response(scram.message(), &mut self.outgoing)
                        .map_err(|_| Fault::Protocol)?;
                }
                Message::AuthenticationSaslFinal(body) => {
                    // Only a server that knows the password can give this answer.
                    let scram = scram.as_mut().ok_or(Fault::Protocol)?;
                    scram.finish(body.data()).map_err(|_| {
                        Fault::Connect("the database server does not know the password itself")
                    })?;
                    continue;
                }
                Message::ErrorResponse(error) => return Err(refused(&error)),
                Message::NoticeResponse(_) => continue,
                _ => {
                    return Err(Fault::Connect(
                        "the database server asks for a way to log in that is not known",
                    ));
                }
            }
            self.send()?;
        }
    }

    /// Whether it may be used again.
    pub(super) fn is_idle(&self) -> bool {
        !self.is_broken && self.state == b'I'
    }

    /// Whether it is still there, as far as can be told without asking the server: one that was ended while nobody
    /// used it has something to read. To be called before it is used again.
    pub(super) fn is_sound(&mut self) -> bool {
        self.skip_unanswered().is_ok()
            && self.is_idle()
            && self.incoming.is_empty()
            && !self.stream.has_news()
    }

    /// Lets go of it without a word to the server.
    pub(super) fn abandon(mut self) {
        self.is_broken = true;
    }

    pub(super) fn setup(&self) -> &Arc<Setup> {
        &self.setup
    }

    /// Runs statements one behind another, and gives what came of each. When one fails those behind it are not run, and
    /// of what is not in a transaction of its own nothing stays.
    pub(super) fn run(&mut self, queries: &[Query<'_>]) -> Result<Vec<Answer>, Fault> {
        let done = self.try_run(queries);
        if let Err(fault) = &done
            && !matches!(fault, Fault::Server(_))
        {
            self.is_broken = true;
        }
        done
    }

    /// Runs a statement in a transaction of its own, which has the same isolation on every server.
    pub(super) fn run_alone(&mut self, query: Query<'_>) -> Result<Answer, Fault> {
        let answers = if self.setup.is_pooler_safe {
            let mut batch = self.begin();
            batch.extend([query, COMMIT]);
            let mut answers = self.run(&batch)?;
            answers.pop();
            answers
        } else {
            self.run(&[query])?
        };
        answers.into_iter().next_back().ok_or(Fault::Protocol)
    }

    /// What a transaction begins with.
    pub(super) fn begin(&self) -> Vec<Query<'static>> {
        let mut begin = vec![Query::new("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE", Values::NONE)];
        // Without a transaction pooler the session has these already.
        if self.setup.is_pooler_safe {
            let ms = self.setup.statement_timeout.as_millis().to_string();
            begin.push(Query::new(
                "SELECT set_config('statement_timeout', $1, true), \
                 set_config('idle_in_transaction_session_timeout', $1, true)",
                values![ms.as_str()],
            ));
        }
        begin
    }

    /// Runs what may take much longer than a statement otherwise does.
    pub(super) fn with_patience<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let _ = self.stream.set_timeout(None);
        let done = work(self);
        let _ = self.stream.set_timeout(Some(self.setup.statement_timeout + PATIENCE));
        done
    }

    /// Forgets what was prepared: the tables are others now.
    pub(super) fn forget_statements(&mut self) {
        self.statements.clear();
    }

    /// Sends a statement whose answer nobody waits for.
    pub(super) fn send_only(&mut self, query: &Query<'_>) {
        let mut fresh = Vec::new();
        if self.write_query(query, &mut fresh).is_err() || !fresh.is_empty() {
            // What prepares it says how to read the answers of the next ones.
            self.outgoing.clear();
            let _ = self.run(std::slice::from_ref(query));
            return;
        }
        frontend::sync(&mut self.outgoing);
        if self.send().is_err() {
            self.is_broken = true;
        }
        self.unanswered += 1;
    }

    fn try_run(&mut self, queries: &[Query<'_>]) -> Result<Vec<Answer>, Fault> {
        let mut fresh = Vec::new();
        for query in queries {
            self.write_query(query, &mut fresh)?;
        }
        frontend::sync(&mut self.outgoing);
        self.send()?;
        self.skip_unanswered()?;
        self.read_answers(queries, fresh)
    }

    fn write_query(&mut self, query: &Query<'_>, fresh: &mut Vec<(Box<str>, Box<str>)>) -> Result<(), Fault> {
        let protocol = |_| Fault::Protocol;
        let is_named = !self.setup.is_pooler_safe;
        let known = self.statements.get(query.sql).map(|known| known.name.clone());
        let known = known.or_else(|| {
            let fresh = fresh.iter().find(|(sql, _)| is_named && **sql == *query.sql);
            fresh.map(|(_, name)| name.clone())
        });
        let name = if let Some(name) = known {
            name
        } else {
            let name: Box<str> = if is_named {
                self.named += 1;
                format!("s{}", self.named).into()
            } else {
                "".into()
            };
            let sql = self.setup.expand(query.sql);
            frontend::parse(&name, &sql, query.values.types(), &mut self.outgoing).map_err(protocol)?;
            frontend::describe(b'S', &name, &mut self.outgoing).map_err(protocol)?;
            fresh.push((query.sql.into(), name.clone()));
            name
        };
        frontend::bind(
            "",
            &name,
            std::iter::once(1),
            query.values.iter(),
            |value: Option<&[u8]>, buffer: &mut BytesMut| {
                Ok(match value {
                    Some(bytes) => {
                        buffer.extend_from_slice(bytes);
                        postgres_protocol::IsNull::No
                    }
                    None => postgres_protocol::IsNull::Yes,
                })
            },
            std::iter::once(1),
            &mut self.outgoing,
        )
        .map_err(|_| Fault::Protocol)?;
        frontend::execute("", 0, &mut self.outgoing).map_err(protocol)
    }

    fn skip_unanswered(&mut self) -> Result<(), Fault> {
        while self.unanswered > 0 {
            match self.receive()? {
                Message::ReadyForQuery(_) => self.unanswered -= 1,
                Message::ErrorResponse(error) if is_fatal(&error) => return Err(ended(&error)),
                _ => {}
            }
        }
        Ok(())
    }

    fn read_answers(
        &mut self,
        queries: &[Query<'_>],
        fresh: Vec<(Box<str>, Box<str>)>,
    ) -> Result<Vec<Answer>, Fault> {
        let mut fresh = fresh.into_iter();
        let mut prepared: Option<(Box<str>, Box<str>)> = None;
        // Of unnamed statements.
        let mut unnamed: Arc<[u32]> = Arc::default();
        let mut answers: Vec<Answer> = Vec::with_capacity(queries.len());
        let mut current = Answer::default();
        let mut types: Option<Arc<[u32]>> = None;
        let mut fault = None;
        loop {
            let message = self.receive()?;
            match message {
                Message::ParseComplete => prepared = fresh.next(),
                Message::RowDescription(body) => {
                    let described: Vec<u32> = body
                        .fields()
                        .map(|field| Ok(field.type_oid()))
                        .collect()
                        .map_err(|_| Fault::Protocol)?;
                    self.learn(prepared.take(), described.into(), &mut unnamed);
                }
                Message::NoData => self.learn(prepared.take(), Arc::default(), &mut unnamed),
                Message::BindComplete => types = None,
                Message::DataRow(body) => {
                    let known = if let Some(types) = &types {
                        types
                    } else {
                        let sql = queries.get(answers.len()).ok_or(Fault::Protocol)?.sql;
                        let known = self.statements.get(sql).map(|known| Arc::clone(&known.types));
                        types.insert(known.unwrap_or_else(|| Arc::clone(&unnamed)))
                    };
                    current.rows.push(Row::new(body, known)?);
                }
                Message::CommandComplete(body) => {
                    let tag = body.tag().map_err(|_| Fault::Protocol)?;
                    current.affected =
                        tag.rsplit(' ').next().and_then(|count| count.parse().ok()).unwrap_or(0);
                    answers.push(std::mem::take(&mut current));
                }
                Message::EmptyQueryResponse => answers.push(Answer::default()),
                Message::ErrorResponse(error) => {
                    if is_fatal(&error) {
                        self.is_broken = true;
                        // Behind an answer, the commit may have come before the end.
                        return Err(if answers.is_empty() { ended(&error) } else { Fault::Lost });
                    }
                    fault.get_or_insert(refused(&error));
                }
                Message::ReadyForQuery(ready) => {
                    self.state = ready.status();
                    return match fault {
                        Some(fault) => Err(fault),
                        None if answers.len() == queries.len() => Ok(answers),
                        None => Err(Fault::Protocol),
                    };
                }
                Message::ParameterDescription(_)
                | Message::NoticeResponse(_)
                | Message::ParameterStatus(_) => {}
                _ => return Err(Fault::Protocol),
            }
        }
    }

    /// Notes what a statement that was prepared just now gives.
    fn learn(&mut self, prepared: Option<(Box<str>, Box<str>)>, types: Arc<[u32]>, unnamed: &mut Arc<[u32]>) {
        match prepared {
            Some((sql, name)) if !name.is_empty() => {
                self.statements.insert(sql, Prepared { name, types });
            }
            _ => *unnamed = types,
        }
    }

    fn send(&mut self) -> Result<(), Fault> {
        let mut at = 0;
        while at < self.outgoing.len() {
            match self.stream.write(&self.outgoing[at..]) {
                Ok(0) => return Err(if at == 0 { Fault::NotSent } else { Fault::Lost }),
                Ok(written) => at += written,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if is_timeout(&error) => return Err(Fault::TimedOut),
                Err(_) => return Err(if at == 0 { Fault::NotSent } else { Fault::Lost }),
            }
        }
        self.outgoing.clear();
        self.stream.flush().map_err(|_| Fault::Lost)?;
        if self.outgoing.capacity() > 1 << 20 {
            // A large payload gives its room back.
            self.outgoing = BytesMut::new();
        }
        Ok(())
    }

    /// The next message that is not a notification.
    fn receive(&mut self) -> Result<Message, Fault> {
        loop {
            match Message::parse(&mut self.incoming).map_err(|_| Fault::Protocol)? {
                Some(Message::NotificationResponse(body)) => {
                    self.notifications.push(body.message().map_err(|_| Fault::Protocol)?.to_owned());
                }
                Some(message) => return Ok(message),
                None => self.fill()?,
            }
        }
    }

    fn fill(&mut self) -> Result<(), Fault> {
        let length = self.incoming.len();
        self.incoming.resize(length + READ_BYTES, 0);
        let read = loop {
            match self.stream.read(&mut self.incoming[length..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read,
            }
        };
        self.incoming.truncate(length + read.as_ref().map_or(0, |read| *read));
        match read {
            Ok(0) => Err(Fault::Lost),
            Ok(_) => Ok(()),
            Err(error) if is_timeout(&error) => Err(Fault::TimedOut),
            Err(_) => Err(Fault::Lost),
        }
    }

    /// What was notified since the last call, without waiting. For a connection that does nothing else.
    pub(super) fn take_notifications(&mut self) -> Result<Vec<String>, Fault> {
        if self.stream.set_nonblocking(true).is_err() {
            return Err(Fault::Lost);
        }
        loop {
            match self.receive() {
                Ok(Message::NoticeResponse(_) | Message::ParameterStatus(_)) => {}
                Ok(_) => return Err(Fault::Lost),
                Err(Fault::TimedOut) => break,
                Err(fault) => return Err(fault),
            }
        }
        Ok(std::mem::take(&mut self.notifications))
    }

    /// Where to wait for notifications.
    #[cfg(target_os = "linux")]
    pub(super) fn stream(&self) -> &Stream {
        &self.stream
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if !self.is_broken {
            // The server would notice that the socket is closed, too.
            self.outgoing.clear();
            frontend::terminate(&mut self.outgoing);
            let _ = self.stream.set_timeout(Some(Duration::from_millis(100)));
            let _ = self.send();
        }
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

fn field(error: &ErrorResponseBody, wanted: u8) -> Option<Vec<u8>> {
    let mut fields = error.fields();
    while let Ok(Some(field)) = fields.next() {
        if field.type_() == wanted {
            return Some(field.value_bytes().to_vec());
        }
    }
    None
}

/// Whether the server ends the connection with it.
fn is_fatal(error: &ErrorResponseBody) -> bool {
    // `V` is the severity in English, whatever the server's language is.
    field(error, b'V').or_else(|| field(error, b'S')).is_some_and(|word| word == b"FATAL" || word == b"PANIC")
}

/// Why the connection was ended before there was an answer. The server did then nothing of what was sent; a pooler does
/// not know that when its own connection to the server breaks, and says so with a state of class 08.
fn ended(error: &ErrorResponseBody) -> Fault {
    match refused(error) {
        Fault::Server([b'0', b'8', ..]) => Fault::Lost,
        fault => fault,
    }
}

fn refused(error: &ErrorResponseBody) -> Fault {
    #[cfg(test)]
    if std::env::var_os("TASKHOLD_TEST_SHOW_ERRORS").is_some() {
        eprintln!("{:?}", field(error, b'M').map(|text| String::from_utf8_lossy(&text).into_owned()));
    }
    let state = field(error, b'C').and_then(|state| state.try_into().ok());
    state.map_or(Fault::Protocol, Fault::Server)
}
