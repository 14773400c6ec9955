import type { Logger } from 'pino'
import { Gauge, Histogram, type Registry } from 'prom-client'
import { runningActivity } from '../activities/activity-context.ts'
import type { Admission } from '../activities/kubernetes/client/admission.ts'
import { type ClientSettings, KubernetesClient } from '../activities/kubernetes/client/client.ts'
import { MissingRights } from '../activities/kubernetes/client/missing-right.ts'
import { RequestGate, type Turn } from '../activities/kubernetes/client/request-gate.ts'
import { ServerTime } from '../activities/kubernetes/client/server-time.ts'

/** The client of a process. A right that is missing is logged, whatever the caller makes of the refusal. */
export async function loadClient(
  kubeconfig: string | undefined,
  log: Logger,
  settings: Pick<ClientSettings, 'admission' | 'serverTime'> = {},
): Promise<KubernetesClient> {
  let rights: MissingRights | undefined
  const client = await KubernetesClient.load(kubeconfig, {
    onForbidden: (message) => rights?.refused(message),
    ...settings,
  })
  rights = new MissingRights(client, (reason) =>
    log.error({ reason }, "forbidden by the API server; compare the account's rights with the chart's: joiner doctor"),
  )
  return client
}

/** How much later than pods' nodes something comes when the API server has too much to do, ms. */
const patience = { drains: 2000, others: 5000, maintenance: 10_000, events: 20_000 } as const

/** A step counts as no older: else one that lasts for days would go before all others with whatever it asks. */
const oldestMs = 30_000

const patienceOf: Readonly<Record<string, number>> = {
  launch: 0,
  awaitNode: 0,
  drain: patience.drains,
  deleteInstance: patience.drains,
  finalize: patience.drains,
  maintain: patience.maintenance,
}

/**
 * Returns the turn of a request: steps of nodes in the order in which they were scheduled, so that one is done before the next begins. Leases, and what
 * fills caches, wait for nothing.
 */
function turnOf(method: string, path: string, nowMs: number): Turn | undefined {
  if (/\/leases(\/|$)/.test(path)) return undefined
  if (path.endsWith('/events')) return { at: nowMs + patience.events }
  const activity = runningActivity()
  // It holds up a workflow task.
  if (activity?.type === 'observe') return undefined
  if (activity === undefined) return method === 'GET' ? undefined : { at: nowMs + patience.others }
  const sinceMs = Math.max(activity.sinceMs, nowMs - oldestMs)
  return { at: sinceMs + (patienceOf[activity.type] ?? patience.others), ends: activity.cancellation }
}

/** The API server's time, with a metric of how far the own clock is from it. */
export function serverTimeOf(log: Logger, registry: Registry): ServerTime {
  const serverTime = new ServerTime({ log })
  gaugeOf([registry], {
    name: 'joiner_clock_off_seconds',
    help: "Seconds by which this machine's clock is ahead of the API server's; negative: behind; NaN: not known.",
    value: () => (serverTime.offMs ?? Number.NaN) / 1000,
  })
  return serverTime
}

/** What a process sends to the API server at once, with its metrics. */
export function admissionTo(registry: Registry): Admission {
  const registers = [registry]
  const waits = new Histogram({
    name: 'joiner_kubernetes_request_wait_seconds',
    help: 'Time that a request to the API server waited for its turn.',
    buckets: [0.01, 0.1, 0.5, 1, 2.5, 5, 10, 20, 30, 60],
    registers,
  })
  const gate = new RequestGate({ now: () => performance.now(), waited: (seconds) => waits.observe(seconds) })
  gaugeOf(registers, {
    name: 'joiner_kubernetes_requests_allowed',
    help: 'Requests that this process has in flight to the API server at most; it follows the latency of the answers.',
    value: () => gate.state.limit,
  })
  gaugeOf(registers, {
    name: 'joiner_kubernetes_requests_waiting',
    help: 'Requests to the API server that wait for their turn.',
    value: () => gate.state.waiting,
  })
  return { gate, turnOf: (method, path) => turnOf(method, path, Date.now()) }
}

/** A gauge that is read on each scrape. */
function gaugeOf(
  registers: Registry[],
  { value, ...named }: { readonly name: string; readonly help: string; readonly value: () => number },
): Gauge {
  return new Gauge({
    ...named,
    registers,
    collect() {
      this.set(value())
    },
  })
}
