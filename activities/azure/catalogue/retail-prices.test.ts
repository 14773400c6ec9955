import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { PriceItem } from './pricing.ts'
import { fetchPrices } from './retail-prices.ts'

describe('the retail price API', () => {
  const apis: PriceApi[] = []
  afterEach(async () => {
    await Promise.all(apis.splice(0).map((api) => api.close()))
  })
  const serve = async (answers: readonly PageAnswer[]) => {
    const api = await PriceApi.start(answers)
    apis.push(api)
    return api
  }
  const item = (armSkuName: string) => ({ armSkuName, retailPrice: 1, skuName: 'x' })

  it('is read page by page', async () => {
    const api = await serve([{ items: [item('a')], more: true }, { items: [item('b')], more: true }, { items: [] }])
    const { region, list } = await fetchPrices(api.url, 'westus2')
    expect([region, ...list.onDemand.keys()]).toEqual(['westus2', 'a', 'b'])
    expect(api.filters[0]).toContain("armRegionName eq 'westus2'")
  })

  it('is asked again for a page that was throttled', async () => {
    const api = await serve([{ status: 429 }, { status: 503 }, { items: [item('a')] }])
    expect((await fetchPrices(api.url, 'westus2')).list.size).toBe(1)
  })

  it('gives prices of eastus where it knows none of the region', async () => {
    const api = await serve([{ items: [] }, { items: [item('a')] }])
    expect(await fetchPrices(api.url, 'nowhere')).toMatchObject({ region: 'eastus', list: { size: 1 } })
    expect(api.filters[1]).toContain("armRegionName eq 'eastus'")
  })

  it('fails where there are none at all, and where it refuses', async () => {
    await expect(fetchPrices((await serve([{ items: [] }, { items: [] }])).url, 'nowhere')).rejects.toThrow(
      'has none, neither of region "nowhere" nor of "eastus"',
    )
    await expect(fetchPrices((await serve([{ status: 403 }])).url, 'westus2')).rejects.toThrow('HTTP 403')
  })
})

describe('a price API that answers what it should not', () => {
  const servers: Server[] = []
  afterEach(() => {
    vi.useRealTimers()
    for (const server of servers.splice(0)) server.close().closeAllConnections()
  })
  const serve = async (listener: RequestListener) => {
    const server = createServer(listener)
    servers.push(server)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }
  const answer = async (body: string, type = 'application/json') => {
    const asked: string[] = []
    const url = await serve((request, response) => {
      asked.push(request.url ?? '')
      response.writeHead(200, { 'content-type': type }).end(body)
    })
    return { url, asked }
  }

  it('is not followed to another origin', async () => {
    const foreign = await answer('{"Items":[]}')
    const { url } = await answer(JSON.stringify({ Items: [], NextPageLink: `${foreign.url}/next` }))
    await expect(fetchPrices(url, 'westus2')).rejects.toThrow(`the next page is at ${foreign.url}, not at ${url}`)
    expect(foreign.asked).toEqual([])
  })

  it('is not followed round in a circle', async () => {
    let asked = 0
    const url: string = await serve((_request, response) => {
      asked += 1
      response.end(JSON.stringify({ Items: [], NextPageLink: `${url}/page/${asked % 3}` }))
    })
    await expect(fetchPrices(url, 'westus2')).rejects.toThrow('a page continues with one before it')
    expect(asked).toBe(4)
  })

  it('is given up when only provisional answers come', async () => {
    const { promise: asked, resolve } = Promise.withResolvers<ServerResponse>()
    const url = await serve((_request, response) => resolve(response))
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    let failure = 'none'
    const read = fetchPrices(url, 'westus2').catch((error: Error) => {
      failure = error.message
    })
    const response = await asked
    for (let passed = 0; passed < 30_000; passed += 10_000) {
      await new Promise<void>((sent) => response.writeEarlyHints({ link: '</a>; rel=preload' }, sent))
      await new Promise((settled) => setImmediate(settled))
      await vi.advanceTimersByTimeAsync(10_000)
    }
    await new Promise((settled) => setImmediate(settled))
    expect(failure).toBe(`GET ${new URL(url).host}: no answer in 30 s`)
    await read
  })

  it('fails with what it says', async () => {
    const { url } = await answer('<html>log in</html>', 'text/html')
    await expect(fetchPrices(url, 'westus2')).rejects.toThrow('content type text/html: "<html>log in</html>"')
  })
})

interface PageAnswer {
  readonly status?: number
  readonly items?: readonly PriceItem[]
  /** Whether there is a link to the next answer. */
  readonly more?: boolean
}

/** Sends its answers in a row. */
class PriceApi {
  readonly filters: string[] = []
  readonly #server: Server

  private constructor(server: Server) {
    this.#server = server
  }

  static async start(answers: readonly PageAnswer[]): Promise<PriceApi> {
    const server = createServer()
    const api = new PriceApi(server)
    server.on('request', (request, response) => {
      const { status = 200, items = [], more = false } = answers[api.filters.length] ?? { status: 500 }
      api.filters.push(new URL(request.url ?? '', api.url).searchParams.get('$filter') ?? '')
      const NextPageLink = more ? `${api.url}${request.url}&page=${api.filters.length}` : ''
      response.writeHead(status, { 'retry-after': '0' }).end(JSON.stringify({ Items: items, NextPageLink }))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return api
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  close(): Promise<void> {
    this.#server.closeAllConnections()
    return new Promise((resolve) => this.#server.close(() => resolve()))
  }
}
