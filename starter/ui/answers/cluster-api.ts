import type { KubernetesClient } from '../../../activities/kubernetes/client/client.ts'
import type { DisruptionPlan, PlannedReplacement } from '../../../core/disruption/plan/plan.ts'
import type { History, Life } from '../../../core/history/life.ts'
import { planUpdate } from '../../../workflows/messages.ts'
import { budgetParts } from '../../cli/budgets/report.ts'
import { requestDisruption } from '../../cli/operate/ask-loop.ts'
import { readPlan } from '../../cli/operate/plan-files.ts'
import { planDocument } from '../../cli/operate/plan-text.ts'
import { planMs } from '../../cli/operate/requests.ts'
import type { TemporalOptions } from '../../cli/operate/temporal-options.ts'
import { CommandError } from '../../document/reported-error.ts'
import { linesOf } from '../../document/text.ts'
import { hoursOfMonth } from '../../document/words.ts'
import { provisioningPauses } from '../../picture/kept.ts'
import { readNode } from '../../picture/node-picture.ts'
import { readWhole } from '../../picture/picture.ts'
import type {
  ActionAnswer,
  ActionRequest,
  Calendar,
  ClusterView,
  CostReport,
  Decisions,
  NodeDetails,
  PlanPreview,
  Session,
} from '../contract.ts'
import { type Api, RouteError } from '../server/api.ts'
import type { TemporalLink } from '../server/temporal-link.ts'
import { act } from './actions.ts'
import { calendarOf } from './calendar.ts'
import { decisionsOf } from './decisions.ts'
import { nodeDetails } from './node-details.ts'

/** What the page is allowed, and how it is named. */
export interface UiSettings {
  /** The cluster's name until Temporal has reported the one that it knows. */
  readonly cluster: string
  readonly version: string
  readonly isReadOnly: boolean
  /** Whether plans may be asked for. */
  readonly canPlan: boolean
  /** Address of the Temporal UI. */
  readonly temporalUi?: string
}

/** What answers are made of. */
export interface UiSources {
  readonly client: KubernetesClient
  readonly options: TemporalOptions
  readonly view: () => ClusterView
  readonly link: TemporalLink
  /** Reads what Temporal knows of the last days. Errors: those of `TemporalLink.use`. */
  readonly history: (days: number) => Promise<History>
  /** Reads what nodes cost in the last days. Errors: likewise. */
  readonly cost: (days: number) => Promise<CostReport>
  /** Who asks, as Kubernetes knows them. */
  readonly by: () => Promise<string>
  readonly now: () => number
}

const keptMs = 10_000
const nodeHistoryDays = 30

/** Answers the page from the cluster and from Temporal, with the rights of whoever runs it. */
export class ClusterApi implements Api {
  readonly #sources: UiSources
  readonly #settings: UiSettings
  readonly #histories: Kept<number, History>
  readonly #costs: Kept<number, CostReport>
  #isPlanning = false

  constructor(sources: UiSources, settings: UiSettings) {
    this.#sources = sources
    this.#settings = settings
    const { history, cost, now } = sources
    this.#histories = new Kept(history, { forMs: keptMs, now })
    this.#costs = new Kept(cost, { forMs: keptMs, now })
  }

  session(): Session {
    const { cluster, version, isReadOnly, temporalUi } = this.#settings
    const access = this.#sources.link.access
    return {
      cluster: access?.cluster ?? cluster,
      version,
      isReadOnly: isReadOnly || access === undefined,
      ...(temporalUi === undefined || access === undefined
        ? {}
        : { temporalUi: `${temporalUi.replace(/\/+$/, '')}/namespaces/${access.namespace}/workflows` }),
    }
  }

  cluster(): ClusterView {
    return this.#sources.view()
  }

  async node(key: string): Promise<NodeDetails> {
    const { client, options, link, now } = this.#sources
    const { joinerNamespace: namespace } = options
    const cluster = link.access?.cluster
    const view = this.#sources.view().nodes.find((each) => each.key === key)
    const name = view?.nodeClaim ?? view?.node ?? key
    const [facts, life] = await Promise.all([
      readNode(name, { client, namespace, now: now(), ...(cluster !== undefined && { cluster }) }).catch(whyMissing),
      this.#lifeOf(name),
    ])
    if (facts === undefined && life === undefined && view === undefined)
      throw new RouteError(404, `there is no Node and no NodeClaim "${key}", and its history is not kept any more`)
    const known = typeof facts === 'string' ? undefined : facts
    const details = nodeDetails({ facts: known, view, life, now: now() })
    return typeof facts === 'string' ? { ...details, why: [facts, ...details.why] } : details
  }

  async decisions(days: number): Promise<Decisions> {
    return decisionsOf(await this.#histories.get(days), this.session().cluster)
  }

  cost(days: number): Promise<CostReport> {
    return this.#costs.get(days)
  }

  async calendar(): Promise<Calendar> {
    const { client, options, now } = this.#sources
    const { joinerNamespace: namespace } = options
    const at = now()
    const parts = { ...budgetParts, provisioning: provisioningPauses }
    const picture = await readWhole({ client, namespace, now: at }, parts)
    return calendarOf(picture, picture.provisioning, at)
  }

  async plan(): Promise<PlanPreview> {
    const { link, options, by } = this.#sources
    if (!this.#settings.canPlan)
      throw new RouteError(
        403,
        'this page is shared and makes no plans; run joiner plan, or joiner ui, on your machine',
      )
    if (this.#isPlanning) throw new RouteError(409, 'a plan is being made; ask again in a moment')
    this.#isPlanning = true
    try {
      const request = { by: await by() }
      const { id } = await link.use((access) =>
        requestDisruption(access, { update: planUpdate, request, limitMs: planMs }),
      )
      return planPreview(await readPlan(id, options))
    } finally {
      this.#isPlanning = false
    }
  }

  async act(request: ActionRequest): Promise<ActionAnswer> {
    const { link, by, now } = this.#sources
    if (this.#settings.isReadOnly)
      throw new RouteError(403, 'this page is read-only; run joiner ui without --read-only, or the command')
    const acting = { by: await by(), now: now() }
    return link.use((access) => act(access, request, acting))
  }

  async #lifeOf(name: string): Promise<Life | undefined> {
    // Without Temporal the rest is still worth having; the page says what is missing.
    const history = await this.#histories.get(nodeHistoryDays).catch(() => undefined)
    return history?.lives.findLast(({ nodeClaim, node }) => nodeClaim === name || node === name)
  }
}

function whyMissing(error: unknown): string {
  if (error instanceof CommandError) return `details are missing: ${error.message}`
  throw error
}

/** Answers that are kept for a moment: so many clients with the same page cost one look. */
class Kept<Key, Value> {
  readonly #read: (key: Key) => Promise<Value>
  readonly #forMs: number
  readonly #now: () => number
  readonly #answers = new Map<Key, { readonly atMs: number; readonly answer: Promise<Value> }>()

  constructor(
    read: (key: Key) => Promise<Value>,
    { forMs, now }: { readonly forMs: number; readonly now: () => number },
  ) {
    this.#read = read
    this.#forMs = forMs
    this.#now = now
  }

  /** Errors: those of the reading, which are reported to those who asked, and to nobody later. */
  get(key: Key): Promise<Value> {
    const atMs = this.#now()
    const kept = this.#answers.get(key)
    if (kept !== undefined && atMs - kept.atMs < this.#forMs) return kept.answer
    const answer = this.#read(key)
    this.#answers.set(key, { atMs, answer })
    answer.catch(() => {
      if (this.#answers.get(key)?.answer === answer) this.#answers.delete(key)
    })
    return answer
  }
}

/** A plan as the page shows it. */
export function planPreview(plan: DisruptionPlan): PlanPreview {
  const { id, commands, cost } = plan
  return {
    id,
    text: [...linesOf(planDocument(plan))],
    commands: commands.map(({ method, reason, candidates, replacements, savings }) => ({
      method,
      reason,
      removes: candidates.map(({ node }) => node),
      creates: replacements.map(replacementText),
      pods: candidates.reduce((sum, { pods }) => sum + pods.length, 0),
      savings: savings * hoursOfMonth,
    })),
    before: cost.cluster.before * hoursOfMonth,
    after: cost.cluster.after * hoursOfMonth,
  }
}

/** `Standard_D4s_v5 or 3 others, spot, westus2-1`. */
function replacementText({ instanceTypes, otherTypes, capacityTypes, zones }: PlannedReplacement): string {
  const [cheapest = 'any size', ...rest] = instanceTypes
  const others = rest.length + otherTypes
  const size = others === 0 ? cheapest : `${cheapest} or ${others} ${others === 1 ? 'other' : 'others'}`
  return [size, capacityTypes.join(' or '), zones.join(' or ')].filter((part) => part !== '').join(', ')
}
