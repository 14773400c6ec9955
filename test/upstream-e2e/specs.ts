// The specs of Karpenter's suites, as Ginkgo lists them.

/** How a spec ended. */
export type Outcome = 'passed' | 'failed' | 'skipped'

/** A spec of a suite. */
export interface Spec {
  /** Folder of the suite, such as `regression`. */
  readonly suite: string
  /** The suite's heading, those of the containers, and its own, as Ginkgo joins them to look for a pattern. */
  readonly name: string
  /** What it belongs to: the suite's outermost container, such as `Drift`. */
  readonly group: string
}

/** How a spec ended, and why. */
export interface Result {
  readonly spec: Spec
  readonly outcome: Outcome
  readonly seconds: number
  /** Place and words of the assertion that failed, or of what skipped the spec. Empty: it passed. */
  readonly why: string
}

/** What is read of Ginkgo's reports. */
export interface GinkgoReport {
  readonly SuiteDescription: string
  readonly SpecReports: readonly GinkgoSpec[] | null
}

interface GinkgoSpec {
  readonly LeafNodeType: string
  readonly ContainerHierarchyTexts: readonly string[] | null
  readonly LeafNodeText: string
  readonly State: string
  readonly RunTime: number
  readonly Failure?: {
    readonly Message?: string
    readonly Location?: { readonly FileName?: string; readonly LineNumber?: number }
  }
}

/** The specs that a report of a suite has. Errors: two have the same name, so that neither can be run by itself. */
export function specsOf(suite: string, report: GinkgoReport): readonly Spec[] {
  const specs = itsOf(report).map((one) => specOf(suite, report, one))
  const twice = specs.find(({ name }, at) => specs.findIndex((other) => other.name === name) !== at)
  if (twice !== undefined) throw new Error(`suite ${suite} has two specs "${twice.name}"`)
  return specs
}

/** How a spec ended by the report of its run. What did not run has no words of why. */
export function resultOf(spec: Spec, report: GinkgoReport | undefined): Result {
  const seen = report && itsOf(report).find((one) => specOf(spec.suite, report, one).name === spec.name)
  if (seen === undefined) return { spec, outcome: 'failed', seconds: 0, why: 'the suite ended without a report of it' }
  const { State, RunTime, Failure } = seen
  const outcome = State === 'passed' || State === 'skipped' ? State : 'failed'
  const { FileName = '', LineNumber = 0 } = Failure?.Location ?? {}
  const place = FileName === '' ? '' : `${FileName.split('/').at(-1)}:${LineNumber}: `
  const why = `${place}${Failure?.Message ?? (outcome === 'passed' ? '' : State)}`.replace(/\s+/g, ' ').trim()
  return { spec, outcome, seconds: RunTime / 1e9, why }
}

const itsOf = ({ SpecReports }: GinkgoReport) => (SpecReports ?? []).filter(({ LeafNodeType }) => LeafNodeType === 'It')

function specOf(suite: string, { SuiteDescription }: GinkgoReport, one: GinkgoSpec): Spec {
  const texts = [...(one.ContainerHierarchyTexts ?? []), one.LeafNodeText]
  return { suite, name: [SuiteDescription, ...texts].join(' '), group: texts[0] ?? '' }
}

/** What a run is restricted to. */
export interface Wanted {
  readonly focus?: RegExp
  readonly group?: string
  /** Without specs that wait for minutes. */
  readonly short?: boolean
}

/** The specs that a run is to have, those that take longest first. Errors: there is no such group. */
export function selected(specs: readonly Spec[], { focus, group, short = false }: Wanted): readonly Spec[] {
  const groups = [...new Set(specs.map((spec) => spec.group))]
  if (group !== undefined && !groups.includes(group))
    throw new Error(`there is no group "${group}"; write one of ${groups.join(', ')}`)
  const wanted = specs.filter(
    (spec) => (group ?? spec.group) === spec.group && (focus?.test(spec.name) ?? true) && !(short && waits(spec)),
  )
  return wanted.toSorted((one, other) => minutesOf(other) - minutesOf(one))
}

/** What takes minutes by itself, however fast the machine is, and what else takes long. */
const long: readonly { readonly name: RegExp; readonly minutes: number; readonly isWait: boolean }[] = [
  { name: /after the registration timeout/, minutes: 15.1, isWait: true },
  // Not the first in a new cluster: it writes over the status of a launch, and before a first launch, which is slow, it would come too early.
  { name: /garbage collect an Instance/, minutes: 15, isWait: true },
  { name: /Drift Failure should not disrupt a drifted node if the replacement/, minutes: 13, isWait: true },
  { name: / Chaos Runaway/, minutes: 5.2, isWait: true },
  { name: /respect node limits when provisioning/, minutes: 5.1, isWait: true },
  { name: /complex drift/, minutes: 5, isWait: false },
  { name: /not go over limit during concurrent changes/, minutes: 3.5, isWait: false },
  { name: / Expiration /, minutes: 3.4, isWait: false },
  { name: /drain pods on a node in order/, minutes: 3.3, isWait: false },
  { name: /DoNotDisrupt Grace Period/, minutes: 2.6, isWait: false },
  { name: /Repair (resumes|force|does not|respects)/, minutes: 2.4, isWait: false },
  { name: / Reboot /, minutes: 1.4, isWait: false },
]

const entryOf = ({ name }: Spec) => long.find((entry) => entry.name.test(name))

/** Whether a spec mostly waits for a time to pass. */
export const waits = (spec: Spec) => entryOf(spec)?.isWait ?? false

/** Whether a spec listens at port 8080 of this machine. */
export const listens = ({ group }: Spec) => group === 'Chaos'

/** About how long a spec takes. */
const minutesOf = (spec: Spec) => entryOf(spec)?.minutes ?? (spec.suite === 'performance' ? 30 : 1)
