import { ApiError, isNotFound } from '../../../activities/kubernetes/client/api-error.ts'
import { isClockWrong, ntpCommands, offText } from '../../../core/server-time.ts'
import { whyOf } from '../../picture/missing.ts'
import { type LeaseReport, readLeases } from '../shared/leases.ts'
import { type DoctorContext, type Finding, fail, ok, warn, worst } from './check.ts'

/** The oldest minor version of Kubernetes that the chart allows. */
const oldestMinor = 30

/** Whether the API server can be reached, is not too old, and keeps up with what Joiner asks. */
export async function examineApiServer({ kubernetes, config, now }: DoctorContext): Promise<Finding> {
  const version = await kubernetes.version()
  const minor = Number(/^v1\.(\d+)/.exec(version)?.[1] ?? 0)
  const reported = `${kubernetes.server} is Kubernetes ${version}`
  const held = heldUpFinding(await readLeases(kubernetes, config.JOINER_NAMESPACE), now())
  return minor >= oldestMinor
    ? worst([ok(reported), ...held])
    : fail(`${reported}, and 1.${oldestMinor} is the oldest that works`, [
        'az aks get-upgrades --name CLUSTER --resource-group GROUP -o table; az aks upgrade --name CLUSTER --resource-group GROUP --kubernetes-version VERSION',
      ])
}

/** What a Lease says of its holder is old once it has not been renewed for so long: the holder is gone, or cut off. */
const freshMs = 60_000

/** Returns who waits for the API server, by what the processes that lead say of themselves; none where nobody does. */
function heldUpFinding(leases: readonly LeaseReport[], now: number): readonly Finding[] {
  const held = leases.flatMap(({ lease, holder = '', heldUp, renewedMs = 0 }) =>
    heldUp === undefined || now - renewedMs > freshMs ? [] : [{ process: `${holder} (${lease})`, ...heldUp }],
  )
  const unread = leases.flatMap(({ lease, unread: why }) => (why === undefined ? [] : [`${lease} (${why})`]))
  if (unread.length > 0) return [ok(`whether it holds up Joiner is not known from Lease ${unread.join(', ')}`)]
  if (held.length === 0) return []
  const lines = held.map(({ process, limit, waiting }) => `${process} may have ${limit} in flight, and ${waiting} wait`)
  return [
    warn(`its slow answers or refusals hold up the requests of Joiner: ${lines.join('; ')}`, [
      'see which priority level is full: kubectl get --raw /metrics | grep -E "apiserver_flowcontrol_(rejected_requests_total|current_inqueue_requests)"',
      'see what else asks a lot: kubectl get --raw /metrics | grep apiserver_request_total',
      'a control plane of the tier Free does not grow with the cluster: az aks update --resource-group GROUP --name CLUSTER --tier standard',
    ]),
  ]
}

/** Clocks that differ by more let tokens and leases fail. */
const failMs = 300_000
const warnMs = 30_000

/** Whether this machine's clock agrees with the API server's and with ARM's, and those of the processes that lead with the API server's. */
export async function examineClocks(context: DoctorContext, signal: AbortSignal): Promise<Finding> {
  const { kubernetes, arm, config } = context
  const all = await Promise.all([
    compared(apiServer, context.now, () => kubernetes.serverDate()),
    compared('ARM', context.now, () => arm.date(signal)),
    leadersClocks(kubernetes, config.JOINER_NAMESPACE),
  ])
  const findings = all.filter(({ summary }) => summary !== '')
  if (findings.every(({ status }) => status === 'ok')) return ok(findings.map(({ summary }) => summary).join('; '))
  return worst(findings)
}

const apiServer = 'the API server'
const clockRemedies = [`set this machine's clock by NTP: ${ntpCommands}. In a pod it is the clock of its node`]
const withheld = 'a process with that clock lets no node expire and repairs none'
/** A Lease is renewed a moment before it is written, and the time of that is whole seconds. */
const writeMs = 2000

/** Compares when the API server took what leaders wrote into their Leases with when they say that was. Empty where none could be compared. */
async function leadersClocks(kubernetes: DoctorContext['kubernetes'], namespace: string): Promise<Finding> {
  const leases = await readLeases(kubernetes, namespace)
  const known = leases.filter(({ offMs }) => offMs !== undefined)
  const wrong = known.filter(({ offMs = 0 }) => isClockWrong({ offMs, uncertaintyMs: writeMs }, false))
  const unread = leases.flatMap(({ lease, unread }) => (unread === undefined ? [] : [lease]))
  const also = unread.length === 0 ? '' : `; who holds ${unread.join(', ')} may not be read from here`
  if (wrong.length === 0) return ok(known.length === 0 ? also.slice(2) : `the clocks of Joiner's leaders agree${also}`)
  const off = wrong.map(({ lease, holder, offMs = 0 }) => `${holder} (${lease}) is ${offText(offMs)}`)
  return fail(`the clock of ${off.join(', that of ')}: ${withheld}${also}`, [
    `set the clock of its machine by NTP: kubectl get pods --namespace joiner --output wide names it; ${ntpCommands}`,
  ])
}

/** Dates in headers are whole seconds, and the answer was on its way: half of that and a second are no difference. */
async function compared(what: string, now: () => number, dateOf: () => Promise<string | undefined>): Promise<Finding> {
  const before = now()
  let date: string | undefined
  try {
    date = await dateOf()
  } catch (error) {
    return warn(`${what}: its clock cannot be read (${whyOf(error)})`, [])
  }
  const after = now()
  if (date === undefined || Number.isNaN(Date.parse(date))) return warn(`${what} does not say what time it is`, [])
  const difference = Date.parse(date) + 500 - (before + after) / 2
  const seconds = Math.round(Math.abs(difference) / 1000)
  const reported = `${what} is ${seconds} s ${difference > 0 ? 'ahead' : 'behind'}`
  const uncertaintyMs = (1000 + after - before) / 2
  const isWrong = what === apiServer && isClockWrong({ offMs: difference, uncertaintyMs }, false)
  const also = isWrong ? `; of Joiner ${withheld}` : ''
  if (Math.abs(difference) > failMs) return fail(`${reported}: tokens will be refused${also}`, clockRemedies)
  if (Math.abs(difference) > warnMs) return warn(`${reported}${also}`, clockRemedies)
  return ok(seconds <= 1 ? `${what} agrees` : reported)
}

/** Whether objects of old API versions are converted, by having one converted that is never stored. */
export async function examineConversion({ kubernetes, config }: DoctorContext): Promise<Finding> {
  const stored: string[] = []
  for (const { plural, sample } of samples)
    try {
      await kubernetes.create(`/apis/karpenter.sh/v1beta1/${plural}?dryRun=All`, sample)
      stored.push(sample.kind)
    } catch (error) {
      // NodeClaims are served as v1beta1 on request only.
      if (sample.kind === 'NodeClaim' && isNotFound(error)) continue
      if (error instanceof ApiError && error.code === 403)
        return warn(`it was not tried, since this identity may not create ${sample.kind}s: ${whyOf(error)}`, [
          'run joiner doctor with the rights of an administrator',
        ])
      return fail(`a ${sample.kind} of v1beta1 cannot be stored as v1: ${whyOf(error)}`, conversionRemedies(config))
    }
  return ok(`a ${stored.join(' and a ')} of v1beta1 would be stored as v1`)
}

/** What shows why the webhook does not answer. */
export const conversionRemedies = ({ JOINER_NAMESPACE: namespace }: DoctorContext['config']) =>
  [
    `kubectl get endpointslices --namespace ${namespace} --selector kubernetes.io/service-name=joiner-conversion; it must list Joiner's pods`,
    `kubectl logs --namespace ${namespace} deployment/joiner-conversion`,
    `kubectl rollout restart --namespace ${namespace} deployment/joiner-conversion; it writes the CA bundle into the CRDs again`,
  ] as const

/** What is only read may come from a cache of objects that were converted before. */
const node = {
  nodeClassRef: { apiVersion: 'karpenter.azure.com/v1alpha2', kind: 'AKSNodeClass', name: 'default' },
  requirements: [{ key: 'kubernetes.io/os', operator: 'In', values: ['linux'] }],
}
const old = { apiVersion: 'karpenter.sh/v1beta1', metadata: { generateName: 'joiner-doctor-' } }
const samples = [
  { plural: 'nodepools', sample: { ...old, kind: 'NodePool', spec: { template: { spec: node } } } },
  { plural: 'nodeclaims', sample: { ...old, kind: 'NodeClaim', spec: node } },
] as const
