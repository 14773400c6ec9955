import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import {
  createDefaultHttpClient,
  createPipelineFromOptions,
  createPipelineRequest,
  type HttpMethods,
  type PipelineResponse,
} from '@azure/core-rest-pipeline'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { mostBodyBytes, mostPages } from '../../limited-body.ts'
import { failureFacts } from '../arm/azure-failure.ts'
import { ruleFor } from '../arm/azure-failure-rules.ts'
import { answerPolicy } from './answer-policy.ts'

const servers: Server[] = []
afterEach(() => {
  vi.useRealTimers()
  for (const server of servers.splice(0)) server.close().closeAllConnections()
})

async function serve(answer: RequestListener): Promise<string> {
  const server = createServer(answer)
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** A pipeline as the SDK's clients have it. `seen` is called when headers have come. */
function pipelineTo(endpoint: string, seen: () => void = () => {}) {
  const pipeline = createPipelineFromOptions({ retryOptions: { maxRetries: 0 } })
  pipeline.addPolicy(answerPolicy(endpoint), { afterPhase: 'Sign' })
  const http = createDefaultHttpClient()
  const sendRequest = async (request: Parameters<typeof http.sendRequest>[0]) => {
    const response = await http.sendRequest(request)
    seen()
    return response
  }
  return (path: string, method: HttpMethods = 'GET', abortSignal?: AbortSignal): Promise<PipelineResponse> => {
    const url = new URL(path, endpoint).href
    const options = { url, method, allowInsecureConnection: true, ...(abortSignal && { abortSignal }) }
    return pipeline.sendRequest({ sendRequest }, createPipelineRequest(options))
  }
}

const json = { 'content-type': 'application/json' }
const errorOf = (work: Promise<unknown>) =>
  work.then(
    () => expect.fail('there should be an error'),
    (error: Error & { readonly code?: string }) => error,
  )
const fakeTime = () => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
const settle = () => new Promise((resolve) => setImmediate(resolve))

describe('an answer that is late', () => {
  test.each([
    ['plain', {}],
    ['compressed', { 'content-encoding': 'gzip' }],
  ])('in its body (%s) ends the request and its connection', async (_, headers) => {
    const { promise: closed, resolve } = Promise.withResolvers<void>()
    const endpoint = await serve((_request, response) => {
      response.on('close', resolve).writeHead(200, { ...json, ...headers })
      const start = '{"value":['
      response.write('content-encoding' in headers ? gzipSync(start).subarray(0, 12) : start)
    })
    const { promise: came, resolve: seen } = Promise.withResolvers<void>()
    fakeTime()
    const error = errorOf(pipelineTo(endpoint, seen)('/vms'))
    await came
    await settle()
    await vi.advanceTimersByTimeAsync(30_000)
    expect(await error).toMatchObject({ name: 'RestError', code: 'REQUEST_SEND_ERROR' })
    expect((await error).message).toMatch(/^GET \/vms: the body of the answer (stalled for 15|did not end in 30) s$/)
    await closed
  })

  test('with its headers ends the request', async () => {
    const { promise: asked, resolve } = Promise.withResolvers<void>()
    const endpoint = await serve(() => resolve())
    fakeTime()
    const error = errorOf(pipelineTo(endpoint)('/vms'))
    await asked
    await vi.advanceTimersByTimeAsync(30_000)
    expect((await error).message).toBe('GET /vms: no answer in 30 s')
  })

  test('is no longer waited for when its caller has gone', async () => {
    const endpoint = await serve((_request, response) => {
      response.writeHead(200, json)
      response.write('{')
    })
    const { promise: came, resolve: seen } = Promise.withResolvers<void>()
    const caller = new AbortController()
    const error = errorOf(pipelineTo(endpoint, seen)('/vms', 'GET', caller.signal))
    await came
    await settle()
    caller.abort()
    expect((await error).name).toBe('AbortError')
  })
})

describe('a success that is not what it promises', () => {
  const sent = async (status: number, type: string, body: string, method: HttpMethods = 'GET') =>
    pipelineTo(await serve((_request, response) => response.writeHead(status, { 'content-type': type }).end(body)))(
      '/vms/a',
      method,
    )

  test.each([
    ['a page of a portal', 200, 'text/html', '<html>log in</html>', 'content type text/html: "<html>log in</html>"'],
    ['nothing', 200, 'application/json', '', 'content type application/json: no body'],
    ['a text', 200, 'application/json', '"a"', '"\\"a\\""'],
    ['half an object', 200, 'application/json', '{"value":[', '"{\\"value\\":["'],
    ['a page for a new resource', 201, 'text/html', '<html>', 'content type text/html'],
  ])('%s is a failure that quotes it', async (_, status, type, body, quoted) => {
    const error = await errorOf(sent(status, type, body))
    expect(error.message).toContain(`GET /vms/a: status ${status}: the answer is not JSON`)
    expect(error.message).toContain(JSON.parse(`"${quoted.replaceAll('\\"', '"').replaceAll('"', '\\"')}"`))
    // It is sent again, and blames neither size nor image.
    const rule = ruleFor(failureFacts(error))
    expect([rule.reason, rule.isUnexplained]).toEqual(['ArmUnreachable', undefined])
  })

  test.each([
    ['an accepted request', 202, 'POST'],
    ['a deletion', 200, 'DELETE'],
    ['a deletion of nothing', 204, 'DELETE'],
    ['an action', 200, 'POST'],
  ] as const)('%s needs no words', async (_, status, method) => {
    expect((await sent(status, 'text/plain', '', method)).status).toBe(status)
  })

  test('errors, objects and lists pass as they are', async () => {
    expect((await sent(502, 'text/html', '<html>')).bodyAsText).toBe('<html>')
    expect((await sent(200, 'application/json', ' {"a":1}\n')).bodyAsText).toBe(' {"a":1}\n')
    expect((await sent(200, 'application/json', '[]')).bodyAsText).toBe('[]')
  })

  test('a body without an end is not kept', async () => {
    let sentBytes = 0
    const endpoint = await serve((_request, response) => {
      response.writeHead(200, json).on('error', () => {})
      const piece = ' '.repeat(2 ** 20)
      const go = () => {
        while (!response.destroyed) {
          sentBytes += piece.length
          if (!response.write(piece)) return void response.once('drain', go)
        }
      }
      go()
    })
    expect((await errorOf(pipelineTo(endpoint)('/vms'))).message).toContain('more than 64 MiB')
    expect(sentBytes).toBeLessThan(1.5 * mostBodyBytes)
  })

  test('nor is one that unpacks to more', async () => {
    const packed = gzipSync(Buffer.alloc(mostBodyBytes + 1, ' '))
    const endpoint = await serve((_request, response) =>
      response.writeHead(200, { ...json, 'content-encoding': 'gzip' }).end(packed),
    )
    expect((await errorOf(pipelineTo(endpoint)('/vms'))).message).toContain('more than 64 MiB')
  })
})

describe('a link or a redirect', () => {
  /** A server that has seen the caller's authorization. */
  async function other() {
    const asked: string[] = []
    const url = await serve((request, response) => {
      asked.push(request.url ?? '')
      response.writeHead(200, json).end('{"value":[]}')
    })
    return { url, asked }
  }

  test('to another origin is not followed: the request fails, and the page that has it', async () => {
    const foreign = await other()
    const page = JSON.stringify({ value: [], nextLink: `${foreign.url}/next` })
    const endpoint = await serve((_request, response) => response.writeHead(200, json).end(page))
    const send = pipelineTo(endpoint)
    expect((await errorOf(send('/vms'))).message).toBe(
      `GET /vms: its next page is at ${foreign.url}, not at ${endpoint}, so it is not asked for; check what stands between Joiner and Azure`,
    )
    expect((await errorOf(send(`${foreign.url}/next`))).message).toContain(
      `leads to ${foreign.url}, not to ${endpoint}`,
    )
    expect((await errorOf(send(`//${new URL(foreign.url).host}/next`))).message).toContain('so it is not sent')
    expect(foreign.asked).toEqual([])
  })

  test('to another origin by a redirect is the answer', async () => {
    const foreign = await other()
    const endpoint = await serve((_request, response) => response.writeHead(307, { location: foreign.url }).end())
    expect((await pipelineTo(endpoint)('/vms')).status).toBe(307)
    expect(foreign.asked).toEqual([])
  })

  test('within a tag of a resource is no link', async () => {
    const page = JSON.stringify({ value: [{ tags: { nextLink: 'https://evil.example/' } }] })
    const endpoint = await serve((_request, response) => response.writeHead(200, json).end(page))
    expect((await pipelineTo(endpoint)('/vms')).bodyAsText).toBe(page)
  })

  /** Follows the links of a list. Returns the number of pages, and the error at its end. */
  async function follow(nextOf: (page: number) => string | undefined) {
    const endpoint: string = await serve((request, response) => {
      const page = Number(new URL(request.url ?? '', endpoint).searchParams.get('page') ?? 0)
      const next = nextOf(page)
      response.writeHead(200, json).end(JSON.stringify({ value: [], ...(next && { nextLink: `${endpoint}${next}` }) }))
    })
    const send = pipelineTo(endpoint)
    let pages = 0
    for (let next: string | undefined = '/vms?api-version=1'; next !== undefined; pages += 1) {
      let text: string
      try {
        text = (await send(next)).bodyAsText ?? ''
      } catch (error) {
        return { pages, error: (error as Error).message }
      }
      next = (JSON.parse(text) as { nextLink?: string }).nextLink
    }
    return { pages, error: '' }
  }

  test('to the same page ends the list, in whatever version', async () => {
    const { pages, error } = await follow(() => '/vms?api-version=2')
    expect([pages, error]).toEqual([0, expect.stringContaining('a page continues with itself')])
  })

  test('round in a circle ends the list', async () => {
    const { pages, error } = await follow((page) => `/vms?page=${(page % 3) + 1}`)
    expect([pages, error]).toEqual([mostPages - 1, expect.stringContaining(`more than ${mostPages} pages`)])
  })

  test('from page to page is followed to its end, as often as it is read', async () => {
    for (let time = 0; time < 2; time++)
      expect(await follow((page) => (page < 20 ? `/vms?page=${page + 1}` : undefined))).toEqual({
        pages: 21,
        error: '',
      })
  })
})
