import { type ChildProcess, spawn } from 'node:child_process'
import { type IncomingMessage, request } from 'node:http'
import { commandLine } from '../deploy/local/installation.ts'
import type { StreamEvent } from '../starter/ui/contract.ts'

export interface UiAnswer {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly text: string
}

interface Sent {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
}

/** A stream of events that a page would read. */
export interface OpenStream {
  readonly events: readonly StreamEvent[]
  /** Resolves with the first event of which this is so, at once if it has come. */
  readonly until: (isSo: (event: StreamEvent) => boolean) => Promise<StreamEvent>
  /** Resolves when the server ended it. */
  readonly ended: Promise<void>
  readonly close: () => void
}

/** `joiner ui` as a process, and a browser's requests to it. */
export class UiProcess {
  readonly child: ChildProcess
  readonly link: string
  readonly port: number
  readonly ended: Promise<number | null>
  cookie = ''

  private constructor(child: ChildProcess, printed: string, ended: Promise<number | null>) {
    const link = /https?:\/\/\S+/.exec(printed)?.[0] ?? ''
    this.child = child
    this.link = link
    this.port = Number(/on port (\d+)/.exec(printed)?.[1] ?? new URL(link).port)
    this.ended = ended
  }

  /** Starts it and waits for its link. Errors: its exit code and what it said. */
  static start(env: Readonly<Record<string, string>>, ...args: readonly string[]): Promise<UiProcess> {
    const { PATH = '', HOME = '' } = process.env
    const child = spawn(process.execPath, [commandLine, 'ui', '--no-open', ...args], {
      env: { PATH, HOME, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
    let output = ''
    let errors = ''
    return new Promise((resolve, reject) => {
      child.stderr.on('data', (chunk: Buffer) => {
        errors += chunk.toString('utf8')
      })
      child.stdout.on('data', (chunk: Buffer) => {
        output += chunk.toString('utf8')
        if (output.includes('\n')) resolve(new UiProcess(child, output, ended))
      })
      void ended.then((code) => reject(new Error(`joiner ui ended with ${code}: ${errors}`)))
    })
  }

  get origin(): string {
    return `http://127.0.0.1:${this.port}`
  }

  /** Exchanges the token of the link. */
  async logIn(): Promise<UiAnswer> {
    const answer = await this.send(`/${new URL(this.link).search}`)
    this.cookie = answer.headers['set-cookie']?.[0]?.split(';')[0] ?? ''
    return answer
  }

  send(path: string, { method = 'GET', headers = {}, body }: Sent = {}): Promise<UiAnswer> {
    const own = {
      ...(this.cookie === '' ? {} : { cookie: this.cookie }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    }
    return new Promise((resolve, reject) => {
      const asked = request(
        { host: '127.0.0.1', port: this.port, path, method, headers: { ...own, ...headers } },
        (answer) => {
          const chunks: Buffer[] = []
          answer.on('data', (chunk: Buffer) => chunks.push(chunk))
          answer.on('end', () =>
            resolve({
              status: answer.statusCode ?? 0,
              headers: answer.headers,
              text: Buffer.concat(chunks).toString('utf8'),
            }),
          )
        },
      )
      asked.on('error', reject)
      asked.end(body === undefined ? undefined : JSON.stringify(body))
    })
  }

  /** Reads data. Errors: another status than 200. */
  async get<T>(path: string): Promise<T> {
    return answerOf(path, await this.send(path)) as T
  }

  /** Asks as the page does. Errors: another status than 200. */
  async post<T>(path: string, body: unknown): Promise<T> {
    const headers = { origin: this.origin, 'x-joiner-action': '1' }
    return answerOf(path, await this.send(path, { method: 'POST', headers, body })) as T
  }

  /** `onEvent` hears of each event as it comes. */
  stream(onEvent: (event: StreamEvent) => void = () => undefined): Promise<OpenStream> {
    const events: StreamEvent[] = []
    const waiting = new Set<() => void>()
    const until = (isSo: (event: StreamEvent) => boolean) =>
      new Promise<StreamEvent>((found) => {
        const look = () => {
          const event = events.find(isSo)
          if (event === undefined) return
          waiting.delete(look)
          found(event)
        }
        waiting.add(look)
        look()
      })
    const { port, cookie } = this
    return new Promise((resolve, reject) => {
      const asked = request({ host: '127.0.0.1', port, path: '/api/stream', headers: { cookie } }, (answer) => {
        let text = ''
        answer.on('data', (chunk: Buffer) => {
          text += chunk.toString('utf8')
          const parts = text.split('\n\n')
          text = parts.pop() ?? ''
          for (const part of parts) {
            const [, event = '', data = ''] = /^event: (\w+)\ndata: (.*)$/.exec(part) ?? []
            const read = { event, data: JSON.parse(data) as unknown } as StreamEvent
            events.push(read)
            onEvent(read)
            for (const look of waiting) look()
          }
        })
        const ended = new Promise<void>((done) => answer.once('close', done))
        resolve({ events, until, ended, close: () => asked.destroy() })
      })
      asked.on('error', reject)
      asked.end()
    })
  }

  /** Ends the process as Ctrl-C does. Returns its exit code. */
  async stop(): Promise<number | null> {
    this.child.kill('SIGINT')
    return this.ended
  }
}

function answerOf(path: string, { status, text }: UiAnswer): unknown {
  if (status !== 200) throw new Error(`${path}: ${status} ${text.slice(0, 500)}`)
  return JSON.parse(text)
}
