import type { AzureIdentity } from '../../../activities/azure/access/azure-identity.ts'
import type { TokenResult } from '../../../activities/azure/arm/access-token.ts'
import type { Cloud } from '../../../activities/azure/arm/clouds.ts'
import type { KubernetesClient } from '../../../activities/kubernetes/client/client.ts'
import type { Config } from '../../../api/config.ts'
import type { ArmReader } from '../../picture/arm-reader.ts'
import { whyOf } from '../../picture/missing.ts'
import type { TemporalSettings } from '../../temporal/settings.ts'
import type { Pools } from '../shared/buyable.ts'
/** What a check found. */
export type Status = 'ok' | 'warn' | 'fail'

export interface Finding {
  readonly status: Status
  /** One line: what was looked at, and how it is. */
  readonly summary: string
  /** Single things behind the summary, a line each. */
  readonly details?: readonly string[]
  /** What to run or change to fix it, a line each; none where all is well. */
  readonly remedies?: readonly string[]
}

/** One look at the surroundings. Errors that it throws become a failed finding. */
export interface Check {
  readonly name: string
  readonly run: (signal: AbortSignal) => Promise<Finding>
  /** What to do when it does not end, or fails in a way that it does not expect. */
  readonly remedy: string
  /** Limit in milliseconds. Default 15 s. */
  readonly limitMs?: number
}

export interface CheckResult extends Finding {
  readonly name: string
  readonly ms: number
}

const defaultLimitMs = 15_000

export const ok = (summary: string, details: readonly string[] = []): Finding => ({ status: 'ok', summary, details })

export const warn = (summary: string, remedies: readonly string[], details: readonly string[] = []): Finding => ({
  status: 'warn',
  summary,
  remedies,
  details,
})

export const fail = (summary: string, remedies: readonly string[], details: readonly string[] = []): Finding => ({
  status: 'fail',
  summary,
  remedies,
  details,
})

/** Runs all checks side by side, each within its limit: one that fails or hangs keeps no other from its end. `onEnd` hears of each as it ends. */
export function runChecks(
  checks: readonly Check[],
  onEnd: (result: CheckResult) => void = () => {},
): Promise<readonly CheckResult[]> {
  return Promise.all(
    checks.map(async (check) => {
      const result = await runCheck(check)
      onEnd(result)
      return result
    }),
  )
}

async function runCheck({ name, run, remedy, limitMs = defaultLimitMs }: Check): Promise<CheckResult> {
  const begun = performance.now()
  const stop = new AbortController()
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<Finding>((resolve) => {
    timer = setTimeout(() => resolve(fail(`did not end within ${limitMs / 1000} s`, [remedy])), limitMs)
  })
  const finding = await Promise.race([run(stop.signal).catch((error: unknown) => fail(whyOf(error), [remedy])), late])
  clearTimeout(timer)
  stop.abort()
  return { name, ...finding, ms: Math.round(performance.now() - begun) }
}

/** Several findings of one check as one: the worst status, and what all of them say. */
export function worst(findings: readonly Finding[]): Finding {
  const status = (['fail', 'warn', 'ok'] as const).find((each) => findings.some((finding) => finding.status === each))
  const ordered = findings.filter((finding) => finding.status === status)
  const rest = findings.filter((finding) => finding.status !== status)
  return {
    status: status ?? 'ok',
    summary: ordered[0]?.summary ?? 'nothing to look at',
    details: [...ordered.slice(1), ...rest]
      .map(({ summary }) => summary)
      .concat(findings.flatMap((f) => f.details ?? [])),
    remedies: [...new Set([...ordered, ...rest].flatMap(({ remedies = [] }) => remedies))],
  }
}

/** What checks look at, and with whose eyes. */
export interface DoctorContext {
  readonly config: Config
  readonly temporal: TemporalSettings
  /** Why nothing leads to Temporal from here. */
  readonly unreached: string | undefined
  readonly cloud: Cloud
  readonly identity: AzureIdentity
  readonly arm: ArmReader
  readonly kubernetes: KubernetesClient
  readonly token: Promise<TokenResult>
  /** What the identity is called at Azure; undefined until a token was had, or when none came. */
  readonly owner: Promise<{ readonly objectId: string; readonly clientId: string } | undefined>
  /** Name of the ServiceAccount with the identity at Azure. */
  readonly serviceAccount: string
  /** What the cluster's NodePools and AKSNodeClasses are; read once for all checks. */
  readonly pools: () => Promise<Pools>
  readonly now: () => number
}

/** The id of the node resource group. */
export function groupId({ ARM_SUBSCRIPTION_ID: subscription, AZURE_NODE_RESOURCE_GROUP: group }: Config): string {
  return `/subscriptions/${subscription}/resourceGroups/${group}`
}

/** A command that gives Joiner's identity a role. Where no token said who that is, it says how to find out. */
export async function roleAssignment(
  { owner, identity }: Pick<DoctorContext, 'owner' | 'identity'>,
  role: string,
  scope: string,
): Promise<string> {
  const { objectId } = (await owner) ?? {}
  const assignee = objectId
    ? `--assignee-object-id ${objectId} --assignee-principal-type ServicePrincipal`
    : `--assignee ${identity.settings.clientId ?? 'CLIENT-ID-OF-JOINERS-IDENTITY'}`
  return `az role assignment create ${assignee} --role "${role}" --scope "${scope}"`
}
