//! A JSON body, read as it comes.

use pointsman_domain::block::BlockSize;
use pointsman_domain::facts::{ModelName, RequestFacts};
use pointsman_json::lexer::{Fault, Lexer};

use super::form::{Form, ModelRule};
use super::reader::Reader;
use crate::rejection::Rejection;
use crate::rewrite::ModelPlace;

/// Reads one JSON body in pieces of any size, and keeps none of its text.
pub(crate) struct JsonBody {
    form: &'static Form,
    lexer: Lexer,
    reader: Reader,
    fault: Option<Fault>,
}

impl JsonBody {
    /// Before the first piece of a body of this form.
    pub(crate) fn new(form: &'static Form, block: BlockSize) -> Self {
        Self {
            form,
            lexer: Lexer::new(),
            reader: Reader::new(form, block),
            fault: None,
        }
    }

    /// Takes the next piece.
    pub(crate) fn push(&mut self, piece: &[u8]) {
        if self.fault.is_none() {
            self.fault = self.lexer.push(piece, &mut self.reader).err();
        }
    }

    /// Completes `facts` by what was read, and says where the model stands. A dialect that demands
    /// nothing leaves every fault to the engine.
    pub(crate) fn finish(
        mut self,
        facts: &mut RequestFacts,
    ) -> Result<Option<ModelPlace>, Rejection> {
        if self.fault.is_none() {
            self.fault = self.lexer.finish(&mut self.reader).err();
        }
        let read = match self.fault {
            Some(fault) => Err(Rejection::NotJson { fault }),
            None => self.reader.finish(facts),
        };
        match read {
            Err(_) if self.form.demands_nothing() => {
                facts.model = unread(self.form);
                Ok(None)
            }
            read => read,
        }
    }
}

/// What a body of this form says of the model if it cannot be read.
pub(crate) fn unread(form: &Form) -> ModelName {
    match form.model {
        ModelRule::Unread | ModelRule::Kept => ModelName::Unread,
        ModelRule::Demanded | ModelRule::Optional => ModelName::Absent,
    }
}
