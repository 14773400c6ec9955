import { parseAllDocuments } from 'yaml'
import type { Json } from '../../../activities/kubernetes/client/answers.ts'
import { ApiError } from '../../../activities/kubernetes/client/api-error.ts'
import { type ResourceName, resourcePath } from '../../../activities/kubernetes/client/resources.ts'
import type { FakeCluster } from '../../fakes/cluster.ts'
import type { FakeObject } from '../../fakes/patches.ts'
import { listPathOf } from './api/paths.ts'
import { columnsOf } from './api/schema.ts'
import { table } from './table.ts'

interface Call {
  readonly verb: string
  readonly words: readonly string[]
  readonly flags: ReadonlyMap<string, string>
  readonly input: string | undefined
}

type Verb = (cluster: FakeCluster, call: Call) => Promise<string>

/** Flags that are followed by their value as a word of its own. */
const valued = new Set([
  '-n',
  '--namespace',
  '-l',
  '--selector',
  '-o',
  '--output',
  '-p',
  '--patch',
  '-f',
  '--raw',
  '--type',
])
const names = new Map([
  ['-n', '--namespace'],
  ['-l', '--selector'],
  ['-o', '--output'],
  ['-p', '--patch'],
])
const shortNames: Readonly<Record<string, ResourceName>> = {
  pdb: 'poddisruptionbudgets',
  pvc: 'persistentvolumeclaims',
}
const inNamespaces = new Set<ResourceName>([
  'pods',
  'deployments',
  'daemonsets',
  'replicasets',
  'statefulsets',
  'configmaps',
  'secrets',
  'events',
  'poddisruptionbudgets',
  'persistentvolumeclaims',
  'capacitybuffers',
  'services',
  'leases',
])

/** What suites do with kubectl, done to a cluster in memory. Errors: as kubectl ends with; a verb or a flag that no suite uses is named. */
export async function kubectl(cluster: FakeCluster, args: readonly string[], input?: string): Promise<string> {
  const call = parse(args, input)
  const verb = verbs[call.verb]
  if (verb === undefined) throw new Error(`kubectl ${args.join(' ')}: "${call.verb}" is not simulated`)
  try {
    return await verb(cluster, call)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    throw new Error(`kubectl ${args.join(' ')}: Error from server (${error.reason}): ${error.message}`, {
      cause: error,
    })
  }
}

function parse(args: readonly string[], input: string | undefined): Call {
  const words: string[] = []
  const flags = new Map<string, string>()
  for (let at = 0; at < args.length; at++) {
    const arg = args[at] ?? ''
    if (!arg.startsWith('-') || arg === '-') {
      words.push(arg)
      continue
    }
    const [name = '', value] = arg.split(/=(.*)/s)
    flags.set(names.get(name) ?? name, value ?? (valued.has(name) ? (args[++at] ?? '') : 'true'))
  }
  const [verb = '', ...rest] = words
  return { verb, words: rest, flags, input }
}

function resourceOf(word: string): ResourceName {
  const known = shortNames[word]
  if (known !== undefined) return known
  return (
    word.endsWith('s') && !word.endsWith('class') ? word : `${word}${word.endsWith('s') ? 'es' : 's'}`
  ) as ResourceName
}

interface Target {
  readonly resource: ResourceName
  readonly path: string
}

/** The objects that words and flags name. */
async function targetsOf(cluster: FakeCluster, { words, flags }: Call, isName = (word: string) => word !== '') {
  const [first = ''] = words
  const [kind = '', joined] = first.split('/')
  const resource = resourceOf(kind)
  const namespace = inNamespaces.has(resource) ? (flags.get('--namespace') ?? 'default') : undefined
  const targetOf = (name: string): Target => ({ resource, path: resourcePath(resource, name, namespace) })
  const named = [...(joined === undefined ? [] : [joined]), ...words.slice(1).filter(isName)]
  if (named.length > 0) return named.map(targetOf)
  const selector = flags.get('--selector')
  if (selector === undefined && flags.get('--all') === undefined) return []
  const query = selector === undefined ? '' : `?labelSelector=${encodeURIComponent(selector)}`
  const { items } = await cluster.request<{ items: readonly FakeObject[] }>(
    'GET',
    `${resourcePath(resource, undefined, namespace)}${query}`,
  )
  return items.map(({ metadata }) => targetOf(metadata.name))
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

async function untilGone(cluster: FakeCluster, path: string): Promise<void> {
  for (;;) {
    const { status } = await cluster.respond('GET', path)
    if (status === 404) return
    await pause(200)
  }
}

const remove: Verb = async (cluster, call) => {
  const { flags } = call
  const targets = await targetsOf(cluster, call)
  const grace = flags.get('--grace-period')
  const cascade = flags.get('--cascade')
  const body = {
    ...(grace === undefined ? {} : { gracePeriodSeconds: Number(grace) }),
    propagationPolicy: cascade === undefined ? 'Background' : `${cascade[0]?.toUpperCase()}${cascade.slice(1)}`,
  }
  const found: Target[] = []
  for (const target of targets) {
    const { status } = await cluster.respond('GET', target.path)
    if (status === 404 && flags.has('--ignore-not-found')) continue
    await cluster.request('DELETE', target.path, body)
    found.push(target)
  }
  if (flags.get('--wait') !== 'false') for (const { path } of found) await untilGone(cluster, path)
  return found.map(({ path }) => `${path} deleted`).join('\n')
}

/** Sets or removes keys of a map in the metadata: `key=value`, `key-`. */
const change =
  (field: 'annotations' | 'labels'): Verb =>
  async (cluster, call) => {
    const isChange = (word: string) => word.includes('=') || word.endsWith('-')
    const changes = call.words.slice(1).filter(isChange)
    const entries = changes.map((word) => {
      const [key = '', value] = word.split(/=(.*)/s)
      return value === undefined ? [key.slice(0, -1), null] : [key, value]
    })
    const targets = await targetsOf(cluster, call, (word) => !isChange(word))
    for (const { path } of targets)
      await cluster.request('PATCH', path, { metadata: { [field]: Object.fromEntries(entries) as object } }, 'merge')
    return ''
  }

interface Taint {
  readonly key: string
  readonly value?: string
  readonly effect: string
}

const taint: Verb = async (cluster, { words }) => {
  const [, ...rest] = words
  const isTaint = (word: string) => /[:]|-$/.test(word) && /\/|=|:|-$/.test(word)
  for (const name of rest.filter((word) => !isTaint(word)))
    for (const word of rest.filter(isTaint)) {
      const path = resourcePath('nodes', name)
      const { spec } = await cluster.request<{ spec?: { taints?: readonly Taint[] } }>('GET', path)
      const [pair = '', effect = ''] = word.replace(/-$/, '').split(':')
      const [key = '', value] = pair.split('=')
      const others = (spec?.taints ?? []).filter((one) => one.key !== key || (effect !== '' && one.effect !== effect))
      const added = word.endsWith('-') ? [] : [{ key, effect, ...(value === undefined ? {} : { value }) }]
      await cluster.request('PATCH', path, { spec: { taints: [...others, ...added] } }, 'merge')
    }
  return ''
}

const cordon =
  (unschedulable: boolean): Verb =>
  async (cluster, { words }) => {
    for (const name of words)
      await cluster.request('PATCH', resourcePath('nodes', name), { spec: { unschedulable } }, 'merge')
    return ''
  }

const patch: Verb = async (cluster, call) => {
  const type = (call.flags.get('--type') ?? 'strategic') as 'merge' | 'strategic' | 'json'
  const subresource = call.flags.get('--subresource')
  for (const { path } of await targetsOf(cluster, call))
    await cluster.request(
      'PATCH',
      subresource === undefined ? path : `${path}/${subresource}`,
      JSON.parse(call.flags.get('--patch') ?? '{}') as object,
      type === 'strategic' ? 'strategic-merge' : type,
    )
  return ''
}

const scale: Verb = async (cluster, call) => {
  const replicas = Number(call.flags.get('--replicas'))
  for (const { path } of await targetsOf(cluster, call))
    await cluster.request('PATCH', `${path}/scale`, { spec: { replicas } }, 'merge')
  return ''
}

const apply: Verb = async (cluster, { input = '' }) => {
  const objects = parseAllDocuments(input)
    .map((document) => document.toJS() as unknown)
    .filter((object) => object != null)
  await cluster.apply(...objects)
  return ''
}

/** Replaces objects, or with --force deletes them and makes them again. */
const replace: Verb = async (cluster, { input = '', flags }) => {
  for (const document of parseAllDocuments(input)) {
    const object = document.toJS() as Json & { readonly metadata: { readonly name: string } }
    const list = listPathOf(object)
    const path = `${list}/${object.metadata.name}`
    if (!flags.has('--force')) {
      await cluster.request('PUT', path, object)
      continue
    }
    const grace = flags.get('--grace-period')
    await cluster.respond('DELETE', path, grace === undefined ? {} : { gracePeriodSeconds: Number(grace) })
    await untilGone(cluster, path)
    await cluster.request('POST', list, object)
  }
  return ''
}

const get: Verb = async (cluster, call) => {
  const raw = call.flags.get('--raw')
  if (raw !== undefined) return JSON.stringify(await cluster.request('GET', raw))
  const named = await targetsOf(cluster, call)
  const targets =
    named.length > 0 ? named : await targetsOf(cluster, { ...call, flags: new Map([...call.flags, ['--all', 'true']]) })
  const objects = await Promise.all(targets.map(({ path }) => cluster.request('GET', path)))
  const output = call.flags.get('--output')
  if (output === 'json' && objects.length > 0) return JSON.stringify(objects[0])
  const resource = resourceOf((call.words[0] ?? '').split('/')[0] ?? '')
  return table(objects, columnsOf(resource), output === 'wide')
}

interface Evictable {
  readonly metadata: {
    readonly name: string
    readonly namespace: string
    readonly ownerReferences?: readonly { readonly kind: string }[]
  }
  readonly spec: { readonly nodeName?: string }
}

/** Cordons a node and evicts its pods, again and again where a PodDisruptionBudget refuses. */
const drain: Verb = async (cluster, call) => {
  const [name = ''] = call.words
  await cordon(true)(cluster, { ...call, words: [name] })
  for (;;) {
    const { items } = await cluster.request<{ items: readonly Evictable[] }>('GET', resourcePath('pods'))
    const left = items.filter(
      ({ spec, metadata }) =>
        spec.nodeName === name && !metadata.ownerReferences?.some(({ kind }) => kind === 'DaemonSet'),
    )
    if (left.length === 0) return ''
    for (const { metadata } of left) {
      const path = `${resourcePath('pods', metadata.name, metadata.namespace)}/eviction`
      await cluster.respond('POST', path, { apiVersion: 'policy/v1', kind: 'Eviction', metadata })
    }
    await pause(5000)
  }
}

const verbs: Readonly<Record<string, Verb>> = {
  apply,
  get,
  drain,
  patch,
  replace,
  scale,
  taint,
  delete: remove,
  annotate: change('annotations'),
  label: change('labels'),
  cordon: cordon(true),
  uncordon: cordon(false),
}
