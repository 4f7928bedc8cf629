//! The body encoding `aws-chunked`, in which the SDK sends content whose checksum it learns only while sending.

use bytes::{Bytes, BytesMut};

/// Takes the content out of `<hex size>[;…]\r\n<data>\r\n … 0\r\n<trailers>`; `None` if it is not so encoded.
pub(super) fn decode(mut body: Bytes) -> Option<Bytes> {
    let mut content = BytesMut::new();
    loop {
        let line_end = body.windows(2).position(|pair| pair == b"\r\n")?;
        let line = body.split_to(line_end + 2);
        let size = std::str::from_utf8(&line[..line_end]).ok()?.split(';').next()?;
        let size = usize::from_str_radix(size.trim(), 16).ok()?;
        if size == 0 {
            return Some(content.freeze());
        }
        if body.len() < size + 2 || &body[size..size + 2] != b"\r\n" {
            return None;
        }
        content.extend_from_slice(&body.split_to(size));
        let _line_end = body.split_to(2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_joined_and_trailers_left() {
        let body = "4\r\nWiki\r\n5;chunk-signature=0\r\npedia\r\n0\r\nx-amz-checksum-crc32:AAAA\r\n\r\n";
        assert_eq!(decode(Bytes::from(body)).unwrap(), "Wikipedia");
        assert_eq!(decode(Bytes::from("0\r\n\r\n")).unwrap(), "");
    }

    #[test]
    fn what_is_cut_or_not_chunked_is_refused() {
        for body in ["", "4\r\nWik", "4\r\nWikiXX0\r\n", "plain content", "4\r\nWiki\r\n"] {
            assert_eq!(decode(Bytes::from(body)), None, "{body:?}");
        }
    }
}
