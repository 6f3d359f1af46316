//! What the tests read texts with.

use super::super::{Fault, Kind, Lexer, Visit};

/// One call of the visitor, the parts of a token joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Begin(Kind, u64),
    Text(Vec<u8>),
    End(Kind, u64),
}

/// Keeps all that it is told.
#[derive(Default)]
pub(super) struct Recorder {
    pub(super) tokens: Vec<Token>,
    pub(super) parts: usize,
}

impl Visit for Recorder {
    fn begin(&mut self, kind: Kind, at: u64) {
        self.tokens.push(Token::Begin(kind, at));
    }

    fn part(&mut self, part: &[u8]) {
        assert!(!part.is_empty(), "no part is empty");
        self.parts += 1;
        match self.tokens.last_mut() {
            Some(Token::Text(text)) => text.extend_from_slice(part),
            Some(Token::Begin(Kind::Key | Kind::String | Kind::Number, _)) => {
                self.tokens.push(Token::Text(part.to_vec()));
            }
            other => panic!("a part behind {other:?}"),
        }
    }

    fn end(&mut self, kind: Kind, end: u64) {
        self.tokens.push(Token::End(kind, end));
    }
}

/// Reads these pieces and the end. What the lexer says of itself is checked on the way.
pub(super) fn read<'p>(
    pieces: impl IntoIterator<Item = &'p [u8]>,
) -> (Vec<Token>, Result<(), Fault>) {
    let mut lexer = Lexer::new();
    let mut recorder = Recorder::default();
    let mut result = Ok(());
    for piece in pieces {
        let before = result;
        let calls = recorder.tokens.len();
        result = lexer.push(piece, &mut recorder);
        if before.is_err() {
            assert_eq!(
                (result, recorder.tokens.len()),
                (before, calls),
                "a fault is the last word"
            );
        }
        assert_eq!(lexer.depth(), depth(&recorder.tokens));
        assert!(result.is_ok() || !lexer.is_complete());
    }
    let was_complete = lexer.is_complete();
    let finish = lexer.finish(&mut recorder);
    assert_eq!(lexer.finish(&mut recorder), finish, "the end comes once");
    if let Err(fault) = result {
        assert_eq!(finish, Err(fault), "a fault is the last word");
    }
    assert!(finish.is_ok() || !was_complete);
    assert_eq!(lexer.is_complete(), finish.is_ok());
    (recorder.tokens, finish)
}

pub(super) fn read_whole(text: &[u8]) -> (Vec<Token>, Result<(), Fault>) {
    read([text])
}

/// The text of the only string of a text.
pub(super) fn string(text: &[u8]) -> Vec<u8> {
    let (tokens, result) = read_whole(text);
    assert_eq!(result, Ok(()), "{}", String::from_utf8_lossy(text));
    let bytes = read(text.chunks(1));
    assert_eq!(bytes, (tokens.clone(), Ok(())), "bytewise");
    match tokens.as_slice() {
        [
            Token::Begin(Kind::String, 0),
            Token::Text(string),
            Token::End(Kind::String, _),
        ] => string.clone(),
        [Token::Begin(Kind::String, 0), Token::End(Kind::String, _)] => Vec::new(),
        other => panic!("no single string: {other:?}"),
    }
}

fn depth(tokens: &[Token]) -> usize {
    let is_container = |kind: &Kind| matches!(kind, Kind::Object | Kind::Array);
    let count = |token: &Token| match token {
        Token::Begin(kind, _) if is_container(kind) => 1,
        Token::End(kind, _) if is_container(kind) => -1,
        _ => 0_isize,
    };
    usize::try_from(tokens.iter().map(count).sum::<isize>()).expect("each end has a beginning")
}
