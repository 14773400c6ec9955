import type { World } from '../world.ts'
import type { HostileObject, Json } from './hostile-object.ts'

const plurals: Readonly<Record<string, string>> = {
  Pod: 'pods',
  NodePool: 'nodepools',
  NodeClaim: 'nodeclaims',
  AKSNodeClass: 'aksnodeclasses',
  StorageClass: 'storageclasses',
  PersistentVolumeClaim: 'persistentvolumeclaims',
}

/** What the API server made of an object. */
export type Answer = { readonly kind: 'taken' } | { readonly kind: 'refused'; readonly why: string }

/** Sends an object, with what it names before it and its status after it. Errors: the API server does not answer. */
export async function send(world: World, { body, status, needs = [] }: HostileObject): Promise<Answer> {
  const taken: Answer = { kind: 'taken' }
  try {
    for (const one of [...needs, body]) await world.operator.api('POST', collectionOf(one), one)
  } catch (error) {
    const why = refusalIn(error)
    if (why === undefined) throw error
    return { kind: 'refused', why }
  }
  if (status === undefined) return taken
  const { name } = body['metadata'] as { readonly name: string }
  return world.operator.api('PATCH', `${collectionOf(body)}/${name}/status`, { status }).then(
    () => taken,
    // The object itself is there.
    () => taken,
  )
}

function collectionOf({ apiVersion, kind, metadata }: Json): string {
  const { namespace } = metadata as { readonly namespace?: string }
  const api = String(apiVersion).includes('/') ? 'apis' : 'api'
  const scope = namespace === undefined ? '' : `namespaces/${namespace}/`
  return `/${api}/${String(apiVersion)}/${scope}${plurals[String(kind)] ?? String(kind)}`
}

/** The API server's message from an error of `Operator.api`; undefined where it did not answer, which is no refusal. */
function refusalIn(error: unknown): string | undefined {
  const text = error instanceof Error ? error.message : ''
  const [, answer] = /^POST \S+: [45]\d\d (.*)$/s.exec(text) ?? []
  return answer === undefined ? undefined : (/"message":"((?:[^"\\]|\\.)*)/.exec(answer)?.[1] ?? answer)
}
