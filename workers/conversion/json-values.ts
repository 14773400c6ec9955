const [quote, backslash, comma, colon, openBrace, openBracket] = Buffer.from('"\\,:{[')

/**
 * Whether a JSON text has more values than so many, found without building any of them: each object, list, element and member counts. What is no
 * JSON gets an answer as well.
 */
export function hasMoreValues(json: Uint8Array, most: number): boolean {
  let values = 1
  for (let at = 0; at < json.length; at++) {
    const byte = json[at]
    if (byte === quote) at = endOfText(json, at + 1)
    else if (byte === comma || byte === colon || byte === openBrace || byte === openBracket) {
      values++
      if (values > most) return true
    }
  }
  return values > most
}

/** The position of the quote that ends a text. */
function endOfText(json: Uint8Array, begin: number): number {
  let at = begin
  while (at < json.length && json[at] !== quote) at += json[at] === backslash ? 2 : 1
  return at
}
