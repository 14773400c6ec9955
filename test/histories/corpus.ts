import { readdir, readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'

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

/** The histories of a folder, by name; those that are packed (`.json.gz`) are unpacked. */
export async function recordedHistories(folder = corpusDir): Promise<readonly RecordedHistory[]> {
  const files = (await readdir(folder)).filter((file) => /\.json(\.gz)?$/.test(file)).toSorted()
  return Promise.all(
    files.map(async (file) => {
      const bytes = await readFile(join(folder, file))
      return {
        name: basename(basename(file, '.gz'), '.json'),
        workflowType: file.slice(0, file.indexOf('.')),
        text: (file.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8'),
      }
    }),
  )
}

const secretShapes: Readonly<Record<string, RegExp>> = {
  'a bootstrap token': /\b[a-z0-9]{6}\.[a-z0-9]{16}\b/,
  'a JSON web token': /\beyJ[\w-]{10,}\.[\w-]{10,}/,
  'a PEM block': /-----BEGIN /,
  'cloud-init data': /#cloud-config|customData|KUBELET_BOOTSTRAP/i,
  'an authorization header': /\bBearer [\w.-]{10,}/,
}

/** What must not be in a history, with its payloads decoded: things shaped like secrets, and given strings or patterns. Empty when all is well. */
export function leaksIn(text: string, forbidden: Readonly<Record<string, string | RegExp>> = {}): readonly string[] {
  const plain = [text, ...payloadsIn(JSON.parse(text))].join('\n')
  const isIn = (value: string | RegExp) =>
    typeof value === 'string' ? value !== '' && plain.includes(value) : value.test(plain)
  return Object.entries({ ...secretShapes, ...forbidden }).flatMap(([what, value]) => (isIn(value) ? [what] : []))
}

/** A payload is a name, an outcome or a deadline; what is larger is a spec, a list or a body. */
const payloadLimitBytes = 4096

/** Payloads of a history that are larger than any should be, by their beginning. */
export function largePayloadsIn(text: string): readonly string[] {
  return payloadsIn(JSON.parse(text))
    .filter((payload) => Buffer.byteLength(payload) > payloadLimitBytes)
    .map((payload) => `${Buffer.byteLength(payload)} bytes: ${payload.slice(0, 100)}`)
}

/** Every payload of a history, decoded. They are the only fields called `data`. */
function payloadsIn(value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) =>
    key === 'data' && typeof inner === 'string' ? [Buffer.from(inner, 'base64').toString()] : payloadsIn(inner),
  )
}
