// A file that a user named, however it was read.
/** A file as it lies on the disk, or standard input. Nothing of it was looked at yet. */
export interface InputFile {
  /** As the user named it; `-`: standard input. */
  readonly file: string
  readonly bytes: Uint8Array<ArrayBuffer>
}

/** How messages name a file. */
export function inputName(file: string): string {
  return file === '-' ? 'standard input' : file
}

export type FileText =
  | { readonly kind: 'text'; readonly text: string }
  /** Why it is none, and what to do. */
  | { readonly kind: 'refused'; readonly message: string }

/** The text of a file, without a byte order mark. Its bytes are gone afterwards: they may be most of the memory. */
export function takeText({ bytes }: InputFile): FileText {
  const [first, second] = bytes
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff))
    return { kind: 'refused', message: 'is UTF-16 text; save it as UTF-8' }
  try {
    return { kind: 'text', text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) }
  } catch {
    return { kind: 'refused', message: 'is not UTF-8 text; give a file with YAML or JSON' }
  } finally {
    bytes.buffer.transfer(0)
  }
}
