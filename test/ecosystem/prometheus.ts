import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { request } from 'undici'
import { stringify } from 'yaml'
import { freePorts } from '../../deploy/local/free-ports.ts'
import type { Supervisor } from '../../deploy/local/supervisor.ts'

/** Seconds between two scrapes, and between two evaluations of rules. */
const stepSeconds = 2

/** A part of a parsed expression, as Prometheus' API reports it. */
interface Expression {
  readonly type: string
  readonly name?: string
  readonly matchers?: readonly { readonly name: string; readonly value: string; readonly type: string }[]
  readonly func?: { readonly name: string }
  readonly [part: string]: unknown
}

interface Firing {
  readonly state: string
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
}

interface Options {
  readonly binary: string
  /** Where it keeps its files. */
  readonly folder: string
  readonly supervisor: Supervisor
  /** `host:port` of what it scrapes as the job `karpenter`. */
  readonly targets: readonly string[]
  readonly rules: string
}

/** A Prometheus server that scrapes Joiner's processes and evaluates rules. */
export class Prometheus {
  readonly #url: string
  readonly #startedAt = Date.now() / 1000

  private constructor(port: number) {
    this.#url = `http://127.0.0.1:${port}`
  }

  /** Starts the server, which ends with the supervisor. Errors: it does not answer within 30 s. */
  static async start({ binary, folder, supervisor, targets, rules }: Options): Promise<Prometheus> {
    await mkdir(folder, { recursive: true })
    const configFile = join(folder, 'prometheus.yaml')
    await writeFile(join(folder, 'rules.yaml'), rules)
    await writeFile(
      configFile,
      stringify({
        global: { scrape_interval: `${stepSeconds}s`, evaluation_interval: `${stepSeconds}s` },
        rule_files: ['rules.yaml'],
        // Metrics have labels namespace and pod of their own.
        scrape_configs: [{ job_name: 'karpenter', honor_labels: true, static_configs: [{ targets }] }],
      }),
    )
    const [port = 0] = await freePorts(1)
    supervisor.start({
      name: 'prometheus',
      command: binary,
      args: [
        `--config.file=${configFile}`,
        `--storage.tsdb.path=${join(folder, 'data')}`,
        `--web.listen-address=127.0.0.1:${port}`,
      ],
      cwd: folder,
    })
    const prometheus = new Prometheus(port)
    await prometheus.#untilReady()
    return prometheus
  }

  /** Returns how many series an expression has had since the start. Errors: Prometheus refuses the expression. */
  async seriesOf(expr: string): Promise<number> {
    const { result } = await this.#get<{ readonly result: readonly unknown[] }>('query_range', {
      query: expr,
      start: this.#startedAt,
      end: Date.now() / 1000,
      step: stepSeconds,
    })
    return result.length
  }

  /** Returns the selectors of an expression that have had no series since the start. Those in `absent()` are left out. */
  async missingSelectors(expr: string): Promise<readonly string[]> {
    const parsed = await this.#get<Expression>('parse_query', { query: expr })
    const missing: string[] = []
    for (const selector of new Set(selectorsOf(parsed))) {
      const found = await this.#get<readonly unknown[]>('series', {
        'match[]': selector,
        start: this.#startedAt,
        end: Date.now() / 1000,
      })
      if (found.length === 0) missing.push(selector)
    }
    return missing
  }

  /** Returns the labels of an alert's instances that fire now. */
  async firing(name: string): Promise<readonly Firing['labels'][]> {
    const { alerts } = await this.#get<{ readonly alerts: readonly Firing[] }>('alerts', {})
    return alerts
      .filter(({ state, labels }) => state === 'firing' && labels['alertname'] === name)
      .map((one) => one.labels)
  }

  /** Returns how many targets answered the last scrape. */
  async up(): Promise<number> {
    const { result } = await this.#get<{ readonly result: readonly { readonly value: readonly [number, string] }[] }>(
      'query',
      { query: 'count(up == 1)' },
    )
    return Number(result[0]?.value[1] ?? 0)
  }

  async #get<T>(path: string, query: Readonly<Record<string, string | number>>): Promise<T> {
    const { body } = await request(`${this.#url}/api/v1/${path}`, { query, headersTimeout: 20_000 })
    const answer = (await body.json()) as { readonly status: string; readonly error?: string; readonly data: T }
    if (answer.status !== 'success') throw new Error(`${path} ${JSON.stringify(query)}: ${answer.error}`)
    return answer.data
  }

  async #untilReady(): Promise<void> {
    const deadline = Date.now() + 30_000
    for (;;) {
      const isReady = await request(`${this.#url}/-/ready`).then(
        async ({ statusCode, body }) => (await body.dump(), statusCode === 200),
        () => false,
      )
      if (isReady) return
      if (Date.now() > deadline) throw new Error('Prometheus is not ready after 30 s; its log is prometheus.log')
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }
}

/** The vector selectors in an expression, without those that are asked for their absence. */
function selectorsOf(parsed: Expression): readonly string[] {
  if (parsed.type === 'call' && parsed.func?.name.startsWith('absent') === true) return []
  if (parsed.type === 'vectorSelector' || parsed.type === 'matrixSelector') {
    const matchers = (parsed.matchers ?? []).map(({ name, type, value }) => `${name}${type}${JSON.stringify(value)}`)
    return [`{${matchers.join(',')}}`]
  }
  return Object.values(parsed)
    .flat()
    .filter((part): part is Expression => typeof part === 'object' && part !== null && 'type' in part)
    .flatMap(selectorsOf)
}
