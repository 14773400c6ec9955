import { nodeDocument, nodeReport } from '../../starter/answers/node-report.ts'
import { podDocument, podReport } from '../../starter/answers/pod-report.ts'
import { withCluster } from '../../starter/cli/access/cluster.ts'
import type { Document } from '../../starter/document/document.ts'
import { anywhere, plainText } from '../../starter/document/text.ts'
import { Times } from '../../starter/document/words.ts'
import { type Place, readNode } from '../../starter/picture/node-picture.ts'
import { readPod } from '../../starter/picture/pod-picture.ts'
import { patient } from '../runner/patience.ts'
import { isFast } from '../scenarios/scenario.ts'
import { claimsPath, type Seen, type World } from '../world.ts'

/** Something that a person on call meets: how it comes about, what `joiner why` has to say of it, and how its remedy is applied. */
export interface Situation {
  /** Names its NodePool and pod. */
  readonly name: string
  /** Brings it about. The pod or node that it is about exists when it returns. */
  readonly arrange: (world: World) => Promise<unknown>
  /** Whether `why node` is asked about the pod's node in place of `why pod`. */
  readonly ofNode?: true
  /** Brings a situation of a node about, once its pod is bound. */
  readonly begin?: (world: World, node: string, claim: string) => Promise<unknown>
  /** What has to stand in the answer. */
  readonly says: readonly RegExp[]
  /** The line of the answer that is applied. */
  readonly remedy: RegExp
  /** Does what the line says. */
  readonly apply: (world: World, remedy: RegExpExecArray) => Promise<unknown>
}

/** How a situation went; `failure` is unset where it was named and resolved. */
export interface Outcome {
  readonly name: string
  readonly seconds: readonly number[]
  readonly failure?: string
}

const lookEveryMs = 1500
const namedWithinMs = patient(100_000)
const resolvedWithinMs = patient(100_000)

/** Plays a situation: it comes about, is named, its remedy is applied, and it is over. */
export async function play(world: World, situation: Situation): Promise<Outcome> {
  const { name } = situation
  const startedMs = Date.now()
  const seconds: number[] = []
  const mark = () => seconds.push(Math.round((Date.now() - startedMs) / 1000))
  let answer = 'nothing was asked'
  try {
    await situation.arrange(world)
    const node = situation.ofNode === true ? await nodeOf(world, name) : undefined
    if (node !== undefined) await situation.begin?.(world, node, await claimOf(world, node))
    mark()
    const remedy = await poll(`${name} is named`, namedWithinMs, async () => {
      answer = node === undefined ? await whyPod(world, name) : await whyNode(world, node)
      const found = situation.remedy.exec(remediesIn(answer))
      return situation.says.every((text) => text.test(answer)) && (found ?? false)
    })
    mark()
    await situation.apply(world, remedy)
    await poll(`${name} is over`, resolvedWithinMs, async () => {
      if (node !== undefined) return !(await isThere(world, node))
      answer = await whyPod(world, name)
      return (await podNamed(world, name))?.spec.nodeName !== undefined
    })
    mark()
    return { name, seconds }
  } catch (error) {
    return { name, seconds, failure: `${String(error)}\nthe last answer:\n${answer}` }
  }
}

/** The part of an answer that says what helps. */
function remediesIn(answer: string): string {
  return /^(?:what helps|what would let it go):\n((?: {2}.*\n?)*)/m.exec(answer)?.[1] ?? ''
}

async function poll<T>(what: string, ms: number, look: () => Promise<T | false>): Promise<T> {
  const endsAt = Date.now() + ms
  let last = ''
  while (Date.now() < endsAt) {
    try {
      const found = await look()
      if (found !== false) return found
      last = 'not so'
    } catch (error) {
      last = String(error)
    }
    await new Promise((resolve) => setTimeout(resolve, lookEveryMs))
  }
  throw new Error(`not within ${ms / 1000} s: ${what} (last: ${last})`)
}

function read<T>(world: World, work: (place: Place) => Promise<T>): Promise<T> {
  const options = { kubeconfig: world.installation.operatorKubeconfig, namespace: 'joiner' }
  return withCluster(options, (client) => work({ client, namespace: 'joiner', now: Date.now() }))
}

const printed = (document: Document, now: number) => plainText(document, { ...anywhere, times: new Times(now) })

/** What `joiner why pod` prints. On real servers all situations are asked about at once, which commands of one process are not. */
export async function whyPod(world: World, name: string): Promise<string> {
  if (isFast) return world.joiner('why', 'pod', `default/${name}`)
  const facts = await read(world, (place) => readPod('default', name, place))
  return facts === undefined ? `there is no pod ${name}` : printed(podDocument(podReport(facts), facts.now), facts.now)
}

async function whyNode(world: World, name: string): Promise<string> {
  if (isFast) return world.joiner('why', 'node', name)
  const facts = await read(world, (place) => readNode(name, place))
  return facts === undefined
    ? `there is no node ${name}`
    : printed(nodeDocument(nodeReport(facts), facts.now), facts.now)
}

async function podNamed(world: World, name: string): Promise<Seen | undefined> {
  return (await world.list('pods')).find(
    ({ metadata }) => metadata.name === name || metadata.labels?.['situation'] === name,
  )
}

function nodeOf(world: World, name: string): Promise<string> {
  return poll(`${name} runs on a node that is initialized`, namedWithinMs, async () => {
    const found = await podNamed(world, name)
    const node = found?.spec.nodeName
    // Budgets do not hold back the eviction of a pod that does not run yet.
    if (node === undefined || found?.status?.phase !== 'Running') return false
    const made = (await world.list('nodes')).find(({ metadata }) => metadata.name === node)
    return made?.metadata.labels?.['karpenter.sh/initialized'] === 'true' && node
  })
}

async function claimOf(world: World, node: string): Promise<string> {
  const { items } = await world.operator.api<{
    readonly items: readonly (Seen & { readonly status?: { readonly nodeName?: string } })[]
  }>('GET', claimsPath)
  return items.find(({ status }) => status?.nodeName === node)?.metadata.name ?? ''
}

async function isThere(world: World, node: string): Promise<boolean> {
  return (await world.list('nodes')).some(({ metadata }) => metadata.name === node)
}
