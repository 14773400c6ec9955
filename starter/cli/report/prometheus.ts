import { isObject } from '../../../core/values/json.ts'
import { printableStart } from '../../../core/values/printable.ts'

/** How long pods waited, as one metric of Joiner measured it. Times are in ms and absent where Prometheus has no value. */
interface MeasuredWait {
  readonly metric: string
  readonly what: string
  readonly pods: number
  readonly averageMs?: number
  readonly p50Ms?: number
  readonly p90Ms?: number
  readonly p99Ms?: number
}

export type Measured =
  | { readonly kind: 'measured'; readonly waits: readonly MeasuredWait[] }
  | { readonly kind: 'unasked' }
  /** `why`: one line, without control characters. */
  | { readonly kind: 'failed'; readonly why: string }

export interface PrometheusOptions {
  /** Where its API is found, such as `http://127.0.0.1:9090`. */
  readonly url: URL
  /** Labels that series must have, such as those of one cluster. */
  readonly match: Readonly<Record<string, string>>
}

interface WaitMetric {
  readonly metric: string
  readonly what: string
  /** A summary of several processes has no quantiles in common. */
  readonly isHistogram: boolean
}

const metrics: readonly WaitMetric[] = [
  { metric: 'karpenter_pods_scheduling_decision_duration_seconds', what: 'seen to first decision', isHistogram: true },
  { metric: 'karpenter_pods_bound_duration_seconds', what: 'created to bound', isHistogram: true },
  { metric: 'karpenter_pods_startup_duration_seconds', what: 'created to ready', isHistogram: false },
  { metric: 'karpenter_pods_provisioning_startup_duration_seconds', what: 'first planned to ready', isHistogram: true },
]

const answerMs = 30_000
const longestAnswer = 1_000_000
const longestWhy = 300

/** Asks Prometheus how long pods waited within a time. Failures are values. */
export async function measuredWaits(
  options: PrometheusOptions,
  { sinceMs, untilMs }: { readonly sinceMs: number; readonly untilMs: number },
): Promise<Measured> {
  const ask = (query: string) => valueOf(options.url, query, untilMs)
  const selector = selectorOf(options.match)
  const range = `[${Math.max(1, Math.round((untilMs - sinceMs) / 1000))}s]`
  try {
    return {
      kind: 'measured',
      waits: await Promise.all(metrics.map((metric) => waitOf(metric, ask, selector + range))),
    }
  } catch (error) {
    const { cause } = error as Error
    const text = cause instanceof Error && cause.message !== '' ? cause.message : (error as Error).message
    return { kind: 'failed', why: printableStart(text, longestWhy) }
  }
}

/** Returns a selector such as `{cluster="prod"}`. */
export function selectorOf(match: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(match).map(([label, value]) => `${label}=${JSON.stringify(value)}`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

async function waitOf(
  { metric, what, isHistogram }: WaitMetric,
  ask: (query: string) => Promise<number | undefined>,
  selected: string,
): Promise<MeasuredWait> {
  const increase = (part: string) => `sum(increase(${metric}_${part}${selected}))`
  const quantile = (share: number) =>
    isHistogram ? ask(`histogram_quantile(${share}, sum by (le) (increase(${metric}_bucket${selected})))`) : undefined
  const [pods, average, p50, p90, p99] = await Promise.all([
    ask(increase('count')),
    ask(`${increase('sum')} / ${increase('count')}`),
    quantile(0.5),
    quantile(0.9),
    quantile(0.99),
  ])
  return {
    metric,
    what,
    // What was counted between two scrapes is extrapolated.
    pods: Math.round(pods ?? 0),
    ...inMs({ averageMs: average, p50Ms: p50, p90Ms: p90, p99Ms: p99 }),
  }
}

function inMs<Key extends string>(
  seconds: Readonly<Record<Key, number | undefined>>,
): { readonly [K in Key]?: number } {
  return Object.fromEntries(
    Object.entries<number | undefined>(seconds).flatMap(([key, value]) =>
      value === undefined ? [] : [[key, Math.max(0, value) * 1000]],
    ),
  ) as { readonly [K in Key]?: number }
}

/** Returns the value of an instant query with one result; undefined when it has none. Errors: no such answer. */
async function valueOf(url: URL, query: string, atMs: number): Promise<number | undefined> {
  const response = await fetch(new URL(`${url.pathname.replace(/\/$/, '')}/api/v1/query`, url), {
    method: 'POST',
    body: new URLSearchParams({ query, time: String(atMs / 1000) }),
    redirect: 'error',
    signal: AbortSignal.timeout(answerMs),
  })
  const answer = parsed(await limitedText(response))
  const said = isObject(answer) && typeof answer['error'] === 'string' ? `: ${answer['error']}` : ''
  if (!isObject(answer) || answer['status'] !== 'success' || !isObject(answer['data']))
    throw new Error(`${url.origin} answered ${response.status} and no result of Prometheus${said}`)
  const { result } = answer['data']
  const first: unknown = Array.isArray(result) ? result[0] : undefined
  const value = isObject(first) && Array.isArray(first['value']) ? Number(first['value'][1]) : Number.NaN
  return Number.isFinite(value) ? value : undefined
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

async function limitedText(response: Response): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true })
    if (text.length > longestAnswer) throw new Error(`the answer is longer than ${longestAnswer} bytes`)
  }
  return text
}
