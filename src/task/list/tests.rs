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
fn digests_tell_filters_apart_and_nothing_else() {
    let filters = [
        "{}",
        r#"{"status":"working"}"#,
        r#"{"status":"failed"}"#,
        r#"{"endpoint":""}"#,
        r#"{"endpoint":"working"}"#,
        r#"{"authorizationPartition":null}"#,
        r#"{"authorizationPartition":""}"#,
        r#"{"authorizationPartition":"working"}"#,
    ];
    let digests: std::collections::HashSet<u64> =
        filters.iter().map(|text| parsed(text).digest("default")).collect();
    assert_eq!(digests.len(), filters.len());
    assert_ne!(parsed("{}").digest("default"), parsed("{}").digest("other"));
    let same = parsed(r#"{"pageSize":7,"includePayload":true}"#).digest("default");
    assert_eq!(parsed("{}").digest("default"), same);
    assert_eq!(
        parsed("{}").digest("default"),
        0x9b18_4d5a_d8fa_a15d,
        "the same in every process and version"
    );
}

#[test]
fn tokens_come_back_and_others_do_not() {
    for after in [0, 1, 255, u64::MAX] {
        let token = page_token(after, 77);
        assert_eq!(place_of(&token, 77).unwrap(), after);
        assert_eq!(place_of(&token, 78).unwrap_err().reason(), Reason::InvalidPageToken);
    }
    let token = page_token(0xabc, 77);
    let foreign = [
        "0".to_owned(),
        "x".repeat(34),
        token[1..].to_owned(),
        format!("{token}0"),
        token.to_uppercase(),
        token.replacen("01", "02", 1),
        token.replacen("0100", "01+0", 1),
        format!("{}\u{e4}{}", &token[..17], &token[19..]),
    ];
    for token in foreign {
        assert_eq!(place_of(&token, 77).unwrap_err().reason(), Reason::InvalidPageToken, "{token}");
    }
}
