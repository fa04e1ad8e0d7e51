//! Asks the kernel over netlink, and reads its answers.

use std::io;

use netlink_packet_core::{
    NLM_F_DUMP, NLM_F_REQUEST, NetlinkDeserializable, NetlinkHeader, NetlinkMessage,
    NetlinkPayload, NetlinkSerializable,
};
use netlink_sys::{Socket, SocketAddr};

/// Size of the buffer for answers, bytes; the kernel never sends more at once in a dump.
const AT_ONCE: usize = 64 << 10;

/// Asks for one thing.
pub(crate) fn ask<M>(protocol: isize, question: M) -> io::Result<Vec<M>>
where
    M: NetlinkSerializable + NetlinkDeserializable,
{
    talk(protocol, question, NLM_F_REQUEST)
}

/// Asks for a list of things.
pub(crate) fn list<M>(protocol: isize, question: M) -> io::Result<Vec<M>>
where
    M: NetlinkSerializable + NetlinkDeserializable,
{
    talk(protocol, question, NLM_F_REQUEST | NLM_F_DUMP)
}

fn talk<M>(protocol: isize, question: M, flags: u16) -> io::Result<Vec<M>>
where
    M: NetlinkSerializable + NetlinkDeserializable,
{
    let mut socket = Socket::new(protocol)?;
    socket.bind_auto()?;
    socket.connect(&SocketAddr::new(0, 0))?;
    let mut header = NetlinkHeader::default();
    header.flags = flags;
    let mut message = NetlinkMessage::new(header, NetlinkPayload::InnerMessage(question));
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    socket.send(&bytes, 0)?;

    let mut answers = Vec::new();
    loop {
        let mut received = Vec::with_capacity(AT_ONCE);
        socket.recv(&mut received, 0)?;
        let mut rest = &received[..];
        while !rest.is_empty() {
            let message = NetlinkMessage::<M>::deserialize(rest).map_err(io::Error::other)?;
            match message.payload {
                NetlinkPayload::Done(_) => return Ok(answers),
                // An acknowledgement is an error message without a code.
                NetlinkPayload::Error(error) if error.code.is_some() => return Err(error.to_io()),
                NetlinkPayload::InnerMessage(answer) => answers.push(answer),
                _ => {}
            }
            if flags & NLM_F_DUMP != NLM_F_DUMP {
                return Ok(answers);
            }
            // Messages are aligned to four bytes.
            let length = (message.header.length as usize).next_multiple_of(4);
            if length == 0 {
                break;
            }
            rest = rest.get(length..).unwrap_or_default();
        }
    }
}
