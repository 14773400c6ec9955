// Entry of the reader's thread, which parses and decodes large objects, so that no other thread has to hold them.
import { parentPort } from 'node:worker_threads'
import type { ObjectMeta } from '../../../core/objects.ts'
import type { Json } from '../client/answers.ts'
import { type CachedKind, kindRules } from './cached-kinds.ts'
import type { FromReader, ReadObject, ToReader } from './large-reader.ts'

const port = parentPort
if (port === null) throw new Error('this file is the reader thread; it is started by LargeReader')

port.on('message', ({ kind, text }: ToReader) => {
  let answer: FromReader
  try {
    answer = { json: read(kind, JSON.parse(text) as Json) }
  } catch (error) {
    answer = { error: String(error) }
  }
  port.postMessage(answer)
})

/** Reads an event, or a list. */
function read(kind: CachedKind, json: Json): Json {
  if (json['object'] !== undefined) return { ...json, object: readObject(kind, json['object'] as Json) }
  const items = (json['items'] ?? []) as readonly Json[]
  return {
    metadata: json['metadata'],
    sizes: items.map((item) => JSON.stringify(item).length),
    items: items.map((item) => readObject(kind, item)),
  }
}

function readObject(kind: CachedKind, json: Json): ReadObject {
  const { name, namespace, uid, resourceVersion } = json['metadata'] as ObjectMeta
  const metadata = { name, uid, resourceVersion, ...(namespace === undefined ? {} : { namespace }) }
  try {
    return { metadata, read: kindRules[kind].decode(json) }
  } catch (error) {
    return { metadata, read: { error: String(error) } }
  }
}
