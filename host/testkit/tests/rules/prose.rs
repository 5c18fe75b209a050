//! Limits for the style of texts: sentences that begin with a question word, and private words.
//!
//! Texts are rustdoc, other comments, Markdown, and string literals of more than four words outside
//! of tests. Results of experiments are generated and do not count.

use super::lexer::literals;
use super::{File, Repository, Violation};

/// Limits of one kind of text, each in 10,000: of its sentences, and of its words.
struct Limit {
    kind: &'static str,
    questions: usize,
    private: usize,
}

const LIMITS: [Limit; 4] = [
    Limit { kind: "rustdoc", questions: 200, private: 10 },
    Limit { kind: "comments", questions: 200, private: 10 },
    Limit { kind: "Markdown", questions: 200, private: 10 },
    Limit { kind: "strings", questions: 20, private: 6 },
];

const QUESTION_WORDS: [&str; 9] =
    ["what", "who", "whose", "whom", "which", "how", "where", "when", "whether"];

/// Words and phrases for which the field has terms of its own.
const PRIVATE: [&str; 29] = [
    "who",
    "whom",
    "told",
    "tells",
    "nobody",
    "somebody",
    "anybody",
    "everybody",
    "anew",
    "sought",
    "seeks",
    "heed",
    "heeds",
    "heeded",
    "beside",
    "besides",
    "fives",
    "rooms",
    "way",
    "ways",
    "of which",
    "for want of",
    "take back",
    "takes back",
    "taken back",
    "is left for",
    "give way",
    "gives way",
    "in vain",
];

/// Nouns for people, after which "who" is right.
const PEOPLE: [&str; 12] = [
    "engineer",
    "reader",
    "user",
    "researcher",
    "people",
    "person",
    "those",
    "anyone",
    "operator",
    "author",
    "developer",
    "maintainer",
];

/// The worst sentences that a violation names.
const NAMED: usize = 5;

pub(crate) fn violations(repository: &Repository) -> Vec<Violation> {
    let mut counts = LIMITS.map(|limit| (limit, Count::default()));
    for file in &repository.files {
        for (kind, text) in texts(file) {
            let (_, count) = counts.iter_mut().find(|(of, _)| of.kind == kind).expect("a kind");
            count.add(&file.path, &text, kind == "strings");
        }
    }
    counts.iter().filter_map(|(limit, count)| count.violation(limit)).collect()
}

#[derive(Default)]
struct Count {
    sentences: usize,
    questions: usize,
    words: usize,
    private: usize,
    found: Vec<String>,
}

impl Count {
    fn add(&mut self, path: &str, text: &str, any_case: bool) {
        for sentence in sentences(text) {
            let words = words(&sentence);
            let question = is_question(&sentence, &words, any_case);
            let private = private(&words);
            self.sentences += 1;
            self.words += words.len();
            self.questions += usize::from(question);
            self.private += private;
            if question || private > 0 {
                self.found.push(format!("{path}: {sentence}"));
            }
        }
    }

    fn violation(&self, limit: &Limit) -> Option<Violation> {
        let questions = self.questions * 10_000 / self.sentences.max(1);
        let private = self.private * 10_000 / self.words.max(1);
        if questions <= limit.questions && private <= limit.private {
            return None;
        }
        let named: Vec<&str> = self.found.iter().take(NAMED).map(String::as_str).collect();
        let remedy = format!(
            "of 10,000 sentences {questions} begin with a question word (at most {}), and of \
             10,000 words {private} are private (at most {}); write subject first, in the field's \
             terms, such as in\n  {}",
            limit.questions,
            limit.private,
            named.join("\n  ")
        );
        let path = limit.kind.to_owned();
        Some(Violation { rule: "prose", path, line: 0, measure: None, remedy })
    }
}

/// Returns the texts of a file, each with its kind.
fn texts(file: &File) -> Vec<(&'static str, String)> {
    let results = file.path.starts_with("experiments/") && !file.path.ends_with("/README.md");
    if file.path.ends_with(".md") && !results {
        return paragraphs(&file.text).into_iter().map(|text| ("Markdown", text)).collect();
    }
    if !file.is_rust() {
        return Vec::new();
    }
    let mut found = comments(&file.text);
    let tests = file.path.split('/').any(|part| part == "tests" || part == "tests.rs");
    if !tests {
        let (code, _) =
            file.text.split_once("#[cfg(test)]\nmod tests {").unwrap_or((&file.text, ""));
        let strings = literals(code).into_iter().filter(|text| text.split_whitespace().count() > 4);
        found.extend(strings.map(|text| ("strings", text)));
    }
    found
}

/// Returns blocks of comments that only an empty one, code or another kind ends.
fn comments(source: &str) -> Vec<(&'static str, String)> {
    let mut found: Vec<(&'static str, String)> = Vec::new();
    let (mut open, mut fenced) = (None, false);
    for line in source.lines().map(str::trim) {
        let documented = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
        let comment = documented.or_else(|| line.strip_prefix("//")).map(str::trim);
        let kind = if documented.is_some() { "rustdoc" } else { "comments" };
        let fence = comment.is_some_and(|text| text.starts_with("```"));
        fenced = comment.is_some() && fenced != fence;
        match comment.filter(|text| !text.is_empty() && !fence && !fenced) {
            Some(text) if open == Some(kind) => {
                let (_, block) = found.last_mut().expect("an open block");
                block.push(' ');
                block.push_str(text);
            }
            Some(text) => {
                found.push((kind, text.to_owned()));
                open = Some(kind);
            }
            None => open = None,
        }
    }
    found
}

/// Returns paragraphs, items and cells of Markdown without its blocks of code.
fn paragraphs(text: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut fenced = false;
    for line in text.lines().map(str::trim) {
        if line.starts_with("```") {
            fenced = !fenced;
        } else if line.starts_with('|') && !fenced {
            found.extend(line.split('|').map(str::to_owned));
        } else if !fenced {
            if line.is_empty() || line.starts_with(['*', '#', '>', '-']) {
                found.push(String::new());
            }
            let block = found.last_mut().expect("at least one");
            block.push_str(line.trim_start_matches(['*', '#', '>', '-']));
            block.push(' ');
        }
    }
    found
}

/// Returns the sentences of more than two words, with inline code as `X`.
fn sentences(text: &str) -> Vec<String> {
    let prose: String =
        text.split('`').enumerate().map(|(i, part)| if i % 2 == 0 { part } else { "X" }).collect();
    let mut found = vec![Vec::new()];
    for word in prose.split_whitespace() {
        found.last_mut().expect("at least one").push(word);
        if word.ends_with(['.', ';', ':', '!', '?']) {
            found.push(Vec::new());
        }
    }
    let long = found.iter().filter(|words| words.len() > 2);
    long.map(|words| words.join(" ")).collect()
}

fn words(sentence: &str) -> Vec<String> {
    let words = sentence.split(|c: char| !c.is_ascii_alphabetic() && c != '\'');
    words.filter(|word| !word.is_empty()).map(str::to_ascii_lowercase).collect()
}

/// Returns whether a statement begins with a question word. A question is right, and so is a clause
/// of time or place before a comma.
fn is_question(sentence: &str, words: &[String], any_case: bool) -> bool {
    let Some(first) = words.first() else { return false };
    let clause = ["when", "where"].contains(&first.as_str()) && sentence.contains(',');
    let begins = sentence.starts_with(|c: char| c.is_ascii_uppercase())
        || any_case && sentence.starts_with(|c: char| c.is_ascii_lowercase());
    begins && QUESTION_WORDS.contains(&first.as_str()) && !sentence.ends_with('?') && !clause
}

fn private(words: &[String]) -> usize {
    let at = |start: usize| {
        PRIVATE.iter().any(|phrase| {
            let phrase: Vec<&str> = phrase.split(' ').collect();
            let same = words[start..].iter().zip(&phrase).filter(|(a, b)| a == *b).count();
            same == phrase.len() && !is_allowed(words, start)
        })
    };
    (0..words.len()).filter(|start| at(*start)).count()
}

/// People are "who", and a "way to" do something is no route.
fn is_allowed(words: &[String], start: usize) -> bool {
    let before = start.checked_sub(1).map_or("", |i| words[i].trim_end_matches('s'));
    match words[start].as_str() {
        "who" | "whom" => PEOPLE.iter().any(|noun| noun.trim_end_matches('s') == before),
        "way" | "ways" => words.get(start + 1).is_some_and(|word| word == "to"),
        _ => false,
    }
}

#[test]
fn question_words_and_private_words_are_found() {
    let count = |path: &str, text: &str| {
        let (path, text) = (path.to_owned(), text.to_owned());
        let mut count = Count::default();
        for (kind, text) in texts(&File { path, text }) {
            count.add("", &text, kind == "strings");
        }
        (count.sentences, count.questions, count.private)
    };
    assert_eq!(count("a.rs", "/// What a node\n/// does, it does anew.\nfn a() {}\n"), (1, 1, 1));
    assert_eq!(count("a.rs", "// When it wakes, it polls. Is it asleep?\n"), (2, 0, 0));
    assert_eq!(count("a.rs", "/// ```\n/// // Who is told of it.\n/// ```\n"), (0, 0, 0));
    assert_eq!(count("a.rs", "f(\"how far the \\\n  clocks drift apart\");"), (1, 1, 0));
    assert_eq!(count("a/tests/b.rs", "f(\"how far the clocks drift apart\");"), (0, 0, 0));
    assert_eq!(count("a.md", "| key | who is told of it |\n\n* A way to\n  do it.\n"), (2, 0, 2));
    assert_eq!(
        count("a.md", "Users who read. `Who` is told.\n```\nWho is it for.\n```\n"),
        (2, 0, 1)
    );
    assert_eq!(count("experiments/a/results.md", "Who is told of it."), (0, 0, 0));
}

#[test]
fn a_text_above_its_limit_is_a_violation() {
    let text = "/// What a node does is told.\nfn a() {}\n".to_owned();
    let file = File { path: "a.rs".to_owned(), text };
    let found = violations(&Repository { files: vec![file] });
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].rule, found[0].path.as_str()), ("prose", "rustdoc"));
    assert!(found[0].remedy.contains("a.rs: What a node does is told."), "{}", found[0].remedy);
}
