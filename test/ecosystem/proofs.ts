// What is proved by software of others: with which version, how it ended, and what was left out for want of a capability of the machine.

import type { Progress } from '../../deploy/local/debian/packages.ts'
import { Buildah } from '../../deploy/local/image/buildah.ts'
import { requireMachine } from '../../deploy/local/real-nodes/machine.ts'
import { binaryVariable, lackFor } from '../../deploy/local/server-binaries.ts'
import { goLack, type Lack } from '../../deploy/local/server-build/go.ts'
import { type ServerName, servers } from '../../deploy/local/server-versions.ts'
import { resolveAzureCli } from '../real-clients/azure-cli.ts'
import { serverNames } from '../runner/server-binaries.ts'
import type { Checked, Part } from './report.ts'

interface Proof {
  readonly what: string
  /** Whose software proves it. */
  readonly by: ServerName | 'azure-cli' | 'buildah'
  /** Whether it runs in a local cluster. */
  readonly inCluster: boolean
  /** It reads files of the Go module that its server is built from. */
  readonly readsModule?: true
}

/** The proofs, by the name of their part. */
export const proofs = {
  rules: { what: "the chart's alerts fire, and rest, over given series", by: 'promtool', inCluster: false },
  boards: {
    what: 'each expression of boards and alerts has data of a living Joiner',
    by: 'prometheus',
    inCluster: true,
  },
  mutations: { what: 'alerts fire when their conditions come about, and end', by: 'prometheus', inCluster: true },
  keda: {
    what: 'examples/keda scales up and down on nodes of Joiner',
    by: 'keda-operator',
    inCluster: true,
    readsModule: true,
  },
  'azure-cli': {
    what: 'the commands of our pages and of joiner admin aks setup, run against the simulator',
    by: 'azure-cli',
    inCluster: false,
  },
  image: {
    what: 'deploy/Dockerfile makes an image that starts and holds nothing it should not',
    by: 'buildah',
    inCluster: false,
  },
  'real-nodes': { what: 'pods of the chart run, make nodes and go, in both profiles', by: 'kubelet', inCluster: false },
  'joined-nodes': {
    what: 'kubelets join with what Joiner wrote into the PUT of their VM',
    by: 'kubelet',
    inCluster: false,
  },
} as const satisfies Record<Part, Proof>

export const parts = Object.keys(proofs) as readonly Part[]

/** A part that cannot run on this machine. */
export interface Skip extends Lack {
  readonly part: Part
}

/** Probes what the parts need, before anything is started. Returns those that cannot run, with the first capability that each lacks. */
export async function skipsOf(asked: readonly Part[], say: Progress): Promise<readonly Skip[]> {
  const skips: Skip[] = []
  for (const part of asked) {
    const { by, inCluster, readsModule }: Proof = proofs[part]
    const lacks = [readsModule === true ? await goLack() : undefined]
    for (const name of [by, ...(inCluster ? serverNames : [])])
      lacks.push(isOfDebian(name) ? await ofDebian[name](say) : await lackFor(name))
    if (part === 'real-nodes' || part === 'joined-nodes') lacks.push(await machineLack())
    const lack = lacks.find((one) => one !== undefined)
    if (lack !== undefined) skips.push({ part, ...lack })
  }
  return skips
}

/** What is not a server comes as a package of Debian, or not at all. */
const ofDebian = {
  'azure-cli': (say: Progress) => lackOf("Debian's package azure-cli", resolveAzureCli(say)),
  buildah: (say: Progress) => lackOf("root and Debian's package buildah", Buildah.find(say)),
} as const

type OfDebian = keyof typeof ofDebian

/** Whether it is no server that is resolved or built. */
export function isOfDebian(name: Proof['by']): name is OfDebian {
  return name in ofDebian
}

const machineLack = () => lackOf('root and packages of a container runtime', requireMachine())

async function lackOf(capability: string, found: Promise<unknown>): Promise<Lack | undefined> {
  return found.then(
    () => undefined,
    ({ message }: Error) => ({ capability, found: message }),
  )
}

/** A skip as `expected-skips` has it. */
export const skipLine = ({ part, capability }: Skip) => `${part}: ${capability}`

/** Returns the skips that no line of `expected-skips` allows. Empty lines and those that begin with # say nothing. */
export function unexpectedSkips(skips: readonly Skip[], expected: string): readonly string[] {
  const allowed = new Set(expected.split('\n').map((line) => line.trim()))
  return skips.map(skipLine).filter((line) => !allowed.has(line))
}

export const proofHead = ['what', 'proved by', 'version', 'passed', 'date'] as const

interface Ended {
  readonly checked: readonly Checked[]
  readonly skips: readonly Skip[]
  readonly date: string
  /** The versions of packages of Debian that came. */
  readonly versions?: Readonly<Partial<Record<OfDebian, string>>>
}

/** Returns a row for each part that was asked for: how many of its checks passed, or what it lacked. */
export function proofRows(
  asked: readonly Part[],
  { checked, skips, date, versions }: Ended,
): readonly (readonly string[])[] {
  return asked.map((part) => {
    const { what, by } = proofs[part]
    const skip = skips.find((one) => one.part === part)
    const own = checked.filter((one) => one.part === part)
    const passed = `${own.filter(({ isOk }) => isOk).length} of ${own.length}`
    const outcome = skip === undefined ? passed : `skipped: needs ${skip.capability}, and ${skip.found}`
    return [what, by, isOfDebian(by) ? (versions?.[by] ?? '') : versionOf(by), outcome, date]
  })
}

/** A binary that the environment names has whatever version it has. */
function versionOf(name: ServerName): string {
  const variable = binaryVariable(name)
  return process.env[variable] ? `that of ${variable}` : servers[name].version
}
