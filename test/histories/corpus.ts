import { readdir, readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Where `npm run record-histories` leaves the histories: `<workflow type>.<story>.json`. */
export const corpusDir = fileURLToPath(new URL('.', import.meta.url))

/** All recorded histories together stay under this, so that they can be committed and replayed at every run. */
export const corpusLimitBytes = 600_000

export interface RecordedHistory {
  readonly name: string
  readonly workflowType: string
  /** Protobuf JSON, as it stands in the file. */
  readonly text: string
}

export async function recordedHistories(): Promise<readonly RecordedHistory[]> {
  const files = (await readdir(corpusDir)).filter((file) => file.endsWith('.json')).toSorted()
  return Promise.all(
    files.map(async (file) => ({
      name: basename(file, '.json'),
      workflowType: file.slice(0, file.indexOf('.')),
      text: await readFile(join(corpusDir, file), 'utf8'),
    })),
  )
}

const secretShapes: Readonly<Record<string, RegExp>> = {
  'a bootstrap token': /\b[a-z0-9]{6}\.[a-z0-9]{16}\b/,
  'a JSON web token': /\beyJ[\w-]{10,}\.[\w-]{10,}/,
  'a PEM block': /-----BEGIN /,
  'cloud-init data': /#cloud-config|customData|KUBELET_BOOTSTRAP/i,
  'an authorization header': /\bBearer [\w.-]{10,}/,
}

/** What must not be in a history, with its payloads decoded: things shaped like secrets, and given strings. Empty when all is well. */
export function leaksIn(text: string, forbidden: Readonly<Record<string, string>> = {}): readonly string[] {
  const plain = [text, ...payloadsIn(JSON.parse(text))].join('\n')
  return [
    ...Object.entries(secretShapes).flatMap(([what, shape]) => (shape.test(plain) ? [what] : [])),
    ...Object.entries(forbidden).flatMap(([what, value]) => (value !== '' && plain.includes(value) ? [what] : [])),
  ]
}

/** Every payload of a history, decoded. They are the only fields called `data`. */
function payloadsIn(value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) =>
    key === 'data' && typeof inner === 'string' ? [Buffer.from(inner, 'base64').toString()] : payloadsIn(inner),
  )
}
