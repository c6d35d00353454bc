use super::*;

fn parsed(text: &str) -> Params<'_> {
    Params::parse(Some(text)).unwrap()
}

#[test]
fn parameters() {
    let defaults = Params::parse(None).unwrap();
    assert_eq!((defaults.page_size, defaults.include_payload, defaults.by_partition), (100, false, false));
    assert!(defaults.status.is_none() && defaults.endpoint.is_none() && defaults.page_token.is_none());
    assert!(parsed(r#"{"pageToken":""}"#).page_token.is_none(), "the first page");
    let anonymous = parsed(r#"{"authorizationPartition":null}"#);
    assert!(anonymous.by_partition && anonymous.partition.is_none());
    let empty = parsed(r#"{"authorizationPartition":""}"#);
    assert!(empty.by_partition && empty.partition.as_deref() == Some(""));
    assert_eq!(parsed(r#"{"status":"input_required"}"#).status, Some(TaskStatus::InputRequired));
    for (text, key) in [
        (r#"{"status":"running"}"#, "status"),
        (r#"{"status":1}"#, "status"),
        (r#"{"pageSize":0}"#, "pageSize"),
        (r#"{"pageSize":1001}"#, "pageSize"),
        (r#"{"pageSize":1.0}"#, "pageSize"),
        (r#"{"includePayload":"yes"}"#, "includePayload"),
        (r#"{"endpoint":7}"#, "endpoint"),
        (r#"{"authorizationPartition":[]}"#, "authorizationPartition"),
        (r#"{"pageToken":3}"#, "pageToken"),
        (r#"{"owner":"x"}"#, "owner"),
    ] {
        assert_eq!(Params::parse(Some(text)).unwrap_err().key(), Some(key), "{text}");
    }
}

#[test]
fn scopes_tell_filters_apart_and_nothing_else() {
    let filters = [
        "{}",
        r#"{"status":"working"}"#,
        r#"{"status":"failed"}"#,
        r#"{"endpoint":""}"#,
        r#"{"endpoint":"working"}"#,
        r#"{"authorizationPartition":null}"#,
        r#"{"authorizationPartition":""}"#,
        r#"{"authorizationPartition":"working"}"#,
        r#"{"queue":"working"}"#,
        r#"{"worker":"working"}"#,
        r#"{"workState":"ready"}"#,
        r#"{"queue":"ready"}"#,
    ];
    for (at, from) in filters.iter().enumerate() {
        let token = page_token::encode_number(parsed(from).scope("default"), 0xabc);
        for (other, to) in filters.iter().enumerate() {
            let place = page_token::decode_number(&token, parsed(to).scope("default"));
            assert_eq!(place.ok(), (at == other).then_some(0xabc), "{from} {to}");
        }
        assert!(page_token::decode_number(&token, parsed(from).scope("other")).is_err());
    }
    let same = parsed(r#"{"pageSize":7,"includePayload":true}"#);
    assert_eq!(parsed("{}").scope("default"), same.scope("default"));
}

#[test]
fn a_token_is_the_same_in_every_version() {
    assert_eq!(
        page_token::encode_number(parsed("{}").scope("default"), 0xabc),
        "01f2dcbdaee5cf0b1e0000000000000abc"
    );
    let scope = parsed("{}").scope("default");
    for content in [&[][..], &[0; 7], &[0; 9]] {
        assert!(
            page_token::decode_number(&page_token::encode(scope, content), scope).is_err(),
            "no sequence number"
        );
    }
}
