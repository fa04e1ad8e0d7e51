//! The program's close (RFC 9293, section 3.6), as far as a switcher hears of it. The FIN is not simulated: it
//! takes no time of its own, since it leaves with the last data.

use super::Sender;

/// How far a close has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Close {
    /// The program has not closed the connection.
    Open,
    /// It does so once the buffer has taken all that it writes.
    Due,
    /// FIN-WAIT-1.
    Sent,
    /// FIN-WAIT-2.
    Acked,
}

impl Sender {
    /// The program closes the connection, and writes no more.
    pub fn close(&mut self) {
        self.close = Close::Due;
        self.settle_close();
    }

    /// Goes on with a close as far as it can come now.
    pub fn settle_close(&mut self) {
        if self.close == Close::Due && !self.writer_waits() {
            self.close = Close::Sent;
            self.tell_fin_wait_1();
        }
        if self.close == Close::Sent && self.una == self.written {
            self.close = Close::Acked;
            self.tell_fin_wait_2();
        }
    }
}
