//! Reads the functions out of the C header.

/// One function of the header.
#[derive(Debug)]
pub struct Function {
    pub name: String,
    pub returns: String,
    pub parameters: Vec<Parameter>,
    pub documentation: String,
}

/// One parameter of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    pub name: String,
    /// Its C type without white space, such as `constchar*`; a function pointer's is `(*)`.
    pub kind: String,
}

/// Every function of `header`, in order.
pub fn functions(header: &str) -> Vec<Function> {
    let mut functions = Vec::new();
    let mut documentation = String::new();
    let mut declaration = String::new();
    let mut in_comment = false;
    for line in header.lines() {
        if line.starts_with("/*") {
            documentation.clear();
            in_comment = true;
        }
        if in_comment {
            documentation.push_str(line);
            documentation.push('\n');
            in_comment = !line.ends_with("*/");
        } else if line.starts_with('#') || line.starts_with("extern") || line.starts_with('}') {
            declaration.clear();
        } else {
            declaration.push_str(line);
            declaration.push(' ');
            if line.ends_with(';') {
                functions.extend(function(&declaration, &documentation));
                declaration.clear();
            }
        }
    }
    functions
}

fn function(declaration: &str, documentation: &str) -> Option<Function> {
    let declaration = declaration.trim().strip_suffix(");")?;
    if declaration.starts_with("typedef") {
        return None;
    }
    let (head, parameters) = declaration.split_once('(')?;
    let at = head.rfind("taskhold_")?;
    Some(Function {
        name: head[at..].to_owned(),
        returns: head[..at].trim().to_owned(),
        parameters: split_parameters(parameters).iter().filter_map(|text| parameter(text)).collect(),
        documentation: documentation.to_owned(),
    })
}

/// Splits at the commas that are in no parenthesis.
fn split_parameters(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut depth = 0;
    for character in text.chars() {
        match character {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        match parts.last_mut() {
            Some(last) if character != ',' || depth > 0 => last.push(character),
            _ => parts.push(String::new()),
        }
    }
    parts
}

fn parameter(text: &str) -> Option<Parameter> {
    let text = text.trim();
    if text == "void" {
        return None;
    }
    if let Some((_, pointer)) = text.split_once("(*") {
        let (name, _) = pointer.split_once(')')?;
        return Some(Parameter { name: name.to_owned(), kind: "(*)".to_owned() });
    }
    let at = text.rfind(|c: char| !c.is_ascii_alphanumeric() && c != '_')? + 1;
    let kind = text[..at].split_whitespace().collect();
    Some(Parameter { name: text[at..].to_owned(), kind })
}
