// What an image holds, by its layers.
import { execFile } from 'node:child_process'
import { createReadStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createGunzip } from 'node:zlib'
import { z } from 'zod'

const run = promisify(execFile)

const descriptor = z.object({ digest: z.string(), size: z.number() })
const index = z.object({ manifests: z.tuple([descriptor]) })
const manifest = z.object({ config: descriptor, layers: z.array(descriptor) })
const configuration = z.object({
  config: z.object({ User: z.string().optional(), Entrypoint: z.array(z.string()).optional() }),
  history: z.array(z.object({ created_by: z.string().default(''), empty_layer: z.boolean().default(false) })),
})

/** A layer of an image. Sizes are bytes. */
interface ImageLayer {
  readonly createdBy: string
  readonly compressed: number
  readonly unpacked: number
  readonly files: readonly string[]
}

/** An image, as it was written in the layout of OCI. */
export interface ImageContents {
  readonly user: string
  readonly layers: readonly ImageLayer[]
  /** Which of the words that were looked for stand in its history or in a file, and where. */
  readonly found: readonly string[]
}

/** Reads an image from a folder in the layout of OCI, and looks for words in its history and in all of its files. */
export async function readImage(folder: string, words: readonly string[]): Promise<ImageContents> {
  const blob = ({ digest }: { readonly digest: string }) => join(folder, 'blobs', digest.replace(':', '/'))
  const json = async (path: string): Promise<unknown> => JSON.parse(await readFile(path, 'utf8'))
  const [first] = index.parse(await json(join(folder, 'index.json'))).manifests
  const { config, layers } = manifest.parse(await json(blob(first)))
  const { config: settings, history } = configuration.parse(await json(blob(config)))
  const steps = history.filter(({ empty_layer }) => !empty_layer)
  const text = await readFile(blob(config), 'utf8')
  const found = words.filter((word) => text.includes(word)).map((word) => `"${word}" in the history`)
  const read: ImageLayer[] = []
  for (const [position, layer] of layers.entries()) {
    const createdBy = steps[position]?.created_by ?? ''
    const { unpacked, seen } = await scan(blob(layer), words)
    found.push(...seen.map((word) => `"${word}" in the layer of ${createdBy}`))
    const { stdout } = await run('tar', ['-tzf', blob(layer)], { maxBuffer: 64 * 1024 * 1024 })
    read.push({ createdBy, compressed: layer.size, unpacked, files: stdout.trimEnd().split('\n') })
  }
  return { user: settings.User ?? '', layers: read, found }
}

/** The size of a compressed archive when it is unpacked, and which words it has. */
async function scan(
  archive: string,
  words: readonly string[],
): Promise<{ readonly unpacked: number; readonly seen: readonly string[] }> {
  const seen = new Set<string>()
  // A word may begin in one piece and end in the next.
  const overlap = Math.max(0, ...words.map((word) => Buffer.byteLength(word)))
  let unpacked = 0
  let end = Buffer.alloc(0)
  for await (const piece of createReadStream(archive).pipe(createGunzip()) as AsyncIterable<Buffer>) {
    unpacked += piece.length
    const both = Buffer.concat([end, piece])
    for (const word of words) if (both.includes(word)) seen.add(word)
    end = both.subarray(-overlap)
  }
  return { unpacked, seen: [...seen] }
}

/** Bytes, of all layers together. */
const most = { unpacked: 280e6, compressed: 95e6 } as const
const notInside =
  /\.ts$|(?:^|\/)(?:webpack|terser|@swc|typescript|\.npmrc)(?:\/|$)|^app\/(?:test|bench|deploy\/(?!crds|$))/

/** What is wrong with Joiner's image: too large, a file that has no place in it, a word that was looked for, another user. */
export function problemsOf({ user, layers, found }: ImageContents): readonly string[] {
  const problems: string[] = []
  for (const kind of ['unpacked', 'compressed'] as const) {
    const bytes = layers.reduce((total, layer) => total + layer[kind], 0)
    if (bytes > most[kind]) problems.push(`${megabytes(bytes)} ${kind}, more than ${megabytes(most[kind])}`)
  }
  const files = layers.flatMap((layer) => layer.files).filter((file) => notInside.test(file))
  problems.push(...files.map((file) => `it holds ${file}`), ...found)
  if (user !== '65532:65532') problems.push(`its user is "${user}", and the chart's is 65532:65532`)
  return problems
}

/** Bytes as a person reads them. */
export function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`
}
