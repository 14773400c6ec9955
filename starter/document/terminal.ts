import { StringDecoder } from 'node:string_decoder'
import { printableLines } from '../../core/values/printable.ts'

type Output = NodeJS.WriteStream

const plainWrites = new WeakMap<Output, (text: string) => boolean>()

/**
 * From now on nothing that a command prints reaches a terminal as a control character, whoever wrote it into a manifest, a name or a message.
 * What prints colours of its own writes with `writeStyled`. On one line, names are the printing command's matter (`printable`).
 */
export function guardOutput(...streams: readonly Output[]): void {
  for (const stream of streams) {
    const write = stream.write.bind(stream) as (text: string, ...rest: readonly unknown[]) => boolean
    const decoder = new StringDecoder('utf8')
    plainWrites.set(stream, write)
    stream.write = (chunk: string | Uint8Array, ...rest: readonly unknown[]) =>
      write(printableLines(typeof chunk === 'string' ? chunk : decoder.write(chunk)), ...rest)
  }
}

/** Writes text with escape sequences of our own; all that comes from elsewhere went through `printable` before. */
export function writeStyled(stream: Output, text: string): boolean {
  return plainWrites.get(stream)?.(text) ?? stream.write(text)
}
