import type { InstanceViewStatus, VirtualMachine } from '@azure/arm-compute'
import { isTrue } from '../../../core/conditions.ts'
import type { NodeClaim } from '../../../core/objects.ts'
import { cachedClaim, setClaimConditions } from '../../kubernetes/client/object-writes.ts'
import type { ClaimRef } from '../../kubernetes/contract.ts'
import { subject } from '../../kubernetes/event-recorder.ts'
import type { WriteDeps } from '../../kubernetes/parts.ts'
import { plainGet } from '../answers/plain-get.ts'
import { vmName } from '../launch/virtual-machine.ts'
import type { AzureParts } from '../parts.ts'
import { joinProblem } from './join-problem.ts'

type EvidenceDeps = Pick<AzureParts, 'log' | 'azure' | 'config'>

export interface JoinEvidenceDeps extends EvidenceDeps, WriteDeps {}

/** Longest evidence in a condition, beside its surrounding text. */
const mostChars = 900
const mostOfOneText = 200
const lastLines = 6
const logChars = 16_384
const logTimeoutMs = 10_000

/**
 * Returns Azure's facts about a VM that runs and does not join: power, agent, failed extensions, and the end of its serial log where boot
 * diagnostics can be read. Bounded and without secrets, fit for conditions and events. Errors: Azure's to the first read; the log is extra.
 */
export async function joinEvidence(deps: EvidenceDeps, claimName: string, signal: AbortSignal): Promise<string> {
  const name = vmName(claimName)
  const vm = await deps.azure.compute.virtualMachines.get(deps.config.nodeResourceGroup, name, {
    expand: 'instanceView',
    abortSignal: signal,
  })
  const log = await serialLog(deps, name, signal).catch((error: unknown) => {
    deps.log.debug({ err: error, vm: name }, 'failed to read boot diagnostics')
    return undefined
  })
  return describeVm(vm, log)
}

/** Publishes Azure's facts in the claim's Registered condition and an event; nothing for a claim whose Node has joined meanwhile. */
export async function reportNotJoined(deps: JoinEvidenceDeps, ref: ClaimRef, signal: AbortSignal): Promise<void> {
  const evidence = await joinEvidence(deps, ref.name, signal)
  const claim = cachedClaim(deps, ref)
  if (claim === undefined || !isAwaited(claim)) return
  const message = `Node not registered with cluster, though VM ${vmName(ref.name)} was created: ${evidence}`
  deps.log.warn({ nodeClaim: ref.name, why: evidence }, 'VM is running but its node has not joined')
  deps.events.record({ about: subject(claim), reason: 'NodeNotJoined', message })
  await setClaimConditions(deps, ref, (current) =>
    isAwaited(current)
      ? { conditions: [{ type: 'Registered', status: 'Unknown', reason: 'NodeNotFound', message }] }
      : undefined,
  )
}

/** Returns whether a claim's Node may still join. */
function isAwaited(claim: NodeClaim): boolean {
  return !isTrue(claim.status.conditions, 'Registered')
}

/** Returns the evidence as text; `log` is the end of the serial log. */
export function describeVm({ instanceView }: Pick<VirtualMachine, 'instanceView'>, log: string | undefined): string {
  const { statuses = [], vmAgent, extensions = [] } = instanceView ?? {}
  const told = [...extensions.flatMap(({ statuses: own = [] }) => own.map(({ message = '' }) => message)), log ?? '']
  const problem = joinProblem(told.join('\n'))
  const reported = [
    ...(problem === undefined ? [] : [problem]),
    `VM: ${statuses.map(({ displayStatus }) => displayStatus ?? '').join(', ') || 'no status'}`,
    `agent: ${(vmAgent?.statuses ?? []).map(statusText).join(', ') || 'has not reported'}`,
    ...extensions.flatMap(({ name, statuses: own = [] }) =>
      own.filter(({ level }) => level === 'Error').map((status) => `extension ${name}: ${statusText(status)}`),
    ),
    ...(log === undefined ? [] : [`serial log ends: ${lastOf(log)}`]),
  ]
  return reported.map(withoutSecrets).join('; ').slice(0, mostChars)
}

function statusText({ displayStatus, message }: InstanceViewStatus): string {
  return [displayStatus ?? 'unknown', ...(message ? [`(${short(message)})`] : [])].join(' ')
}

const short = (text: string) => text.replaceAll(/\s+/g, ' ').trim().slice(0, mostOfOneText)

function lastOf(log: string): string {
  const lines = log.split('\n').map(short)
  return lines
    .filter((line) => line !== '')
    .slice(-lastLines)
    .join(' | ')
}

/** Removes secrets: a machine's output may hold tokens, keys, signatures and whatever looks like one. */
export function withoutSecrets(text: string): string {
  return text
    .replaceAll(/-----BEGIN [^-]*-----.*?(-----END [^-]*-----|$)/gs, '***')
    .replaceAll(/\b[a-z0-9]{6}\.[a-z0-9]{16}\b/g, '***')
    .replaceAll(/\beyJ[\w-]+(\.[\w-]+)*/g, '***')
    .replaceAll(
      /((?:token|secret|password|passwd|sig|credential|authorization)\w*["']?\s*[=:]\s*)("[^"]*"|'[^']*'|(?:Bearer\s+)?\S+)/gi,
      '$1***',
    )
    .replaceAll(/[A-Za-z0-9+/_-]{40,}={0,2}/g, '***')
}

/** Reads the serial log. Boot diagnostics may be off, which Azure reports by an error. */
async function serialLog(
  { azure, config }: Omit<EvidenceDeps, 'log'>,
  name: string,
  signal: AbortSignal,
): Promise<string> {
  const { serialConsoleLogBlobUri } = await azure.compute.virtualMachines.retrieveBootDiagnosticsData(
    config.nodeResourceGroup,
    name,
    { sasUriExpirationTimeInMinutes: 5, abortSignal: signal },
  )
  if (serialConsoleLogBlobUri === undefined) throw new Error('there is no serial log')
  const { status, body } = await plainGet(serialConsoleLogBlobUri, {
    http: azure.http,
    signal: AbortSignal.any([signal, AbortSignal.timeout(logTimeoutMs)]),
  })
  // Storage does not serve only the end of a blob.
  let end = ''
  for await (const chunk of body.setEncoding('utf8')) end = (end + String(chunk)).slice(-logChars)
  if (status >= 300) throw new Error(`the serial log was answered with ${status}`)
  return end
}
