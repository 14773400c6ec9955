// What is wrong with a connection is found by shaking hands with real TLS servers of this process.
import { createServer as createHttp2, createSecureServer } from 'node:http2'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { createServer as createTls } from 'node:tls'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { Authority, type Issued } from '../../deploy/local/authority.ts'
import { type ConnectOptions, TemporalFileError } from './credentials.ts'
import { explainTemporal, problemText } from './problem.ts'

let ours: Authority
let others: Authority
let server: Issued
let client: Issued
const open: { close(): unknown }[] = []

beforeAll(async () => {
  ours = await Authority.create('CN=our-ca')
  others = await Authority.create('CN=other-ca')
  server = await ours.issue({
    subject: 'CN=temporal',
    usages: ['serverAuth'],
    names: ['127.0.0.1', 'temporal.example'],
  })
  client = await ours.issue({ subject: 'CN=joiner', usages: ['clientAuth'] })
})

afterEach(() => {
  for (const each of open.splice(0)) each.close()
})

async function listening(server: Server): Promise<string> {
  open.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** A server that speaks HTTP/2 over TLS and wants certificates of our authority. */
function temporal(certificate: Issued = server): Promise<string> {
  return listening(
    createSecureServer({
      ...certificate,
      ca: ours.cert,
      requestCert: true,
      rejectUnauthorized: true,
    }),
  )
}

const bytes = (text: string) => new Uint8Array(Buffer.from(text))
const pair = ({ cert, key }: Issued) => ({ clientCertPair: { crt: bytes(cert), key: bytes(key) } })
const trusted = () => ({ serverRootCACertificate: bytes(ours.cert) })

async function problem(
  address: string,
  tls: ConnectOptions['tls'],
  more: Partial<ConnectOptions> = {},
): Promise<string> {
  const load = () => ({ address, tls, metadata: {}, ...more })
  return problemText(await explainTemporal({ load, address, namespace: 'nodes' }, new Error('deadline exceeded')))
}

describe('is found by shaking hands', () => {
  test('nothing: what the library said is all there is', async () => {
    expect(await problem(await temporal(), { ...trusted(), ...pair(client) })).toContain('deadline exceeded')
  })

  test('a client certificate that has expired', async () => {
    const expired = await ours.issue({
      subject: 'CN=joiner',
      usages: ['clientAuth'],
      notAfter: new Date(1_700_000_000_000),
    })
    const text = await problem(await temporal(), { ...trusted(), ...pair(expired) }, { certificateFile: '/tls.crt' })
    expect(text).toMatch(/refuses the client certificate "CN=joiner" in \/tls.crt: it expired at 2023-11-14T22:13:20/)
    expect(text).toContain('a new file is taken up without a restart')
  })

  test('a client certificate of an authority that the server does not trust', async () => {
    const strange = await others.issue({ subject: 'CN=joiner', usages: ['clientAuth'] })
    const text = await problem(await temporal(), { ...trusted(), ...pair(strange) })
    expect(text).toMatch(/refuses the client certificate "CN=joiner", signed by "CN=other-ca"/)
  })

  test('no client certificate', async () => {
    expect(await problem(await temporal(), trusted())).toContain('demands a client certificate, and none is set')
  })

  test('a server of an authority that is not trusted', async () => {
    const tls = { serverRootCACertificate: bytes(others.cert), ...pair(client) }
    const text = await problem(await temporal(), tls)
    expect(text).toMatch(/its certificate \("CN=temporal"\) was signed by "CN=our-ca", which is not trusted/)
    expect(text).toContain('TEMPORAL_TLS_SERVER_CA_CERT_PATH')
  })

  test('a server with another name', async () => {
    const tls = { ...trusted(), ...pair(client), serverNameOverride: 'elsewhere.example' }
    const text = await problem(await temporal(), tls)
    expect(text).toContain('DNS:temporal.example, not for "elsewhere.example"')
    expect(text).toContain('TEMPORAL_TLS_SERVER_NAME')
  })

  test('a server whose certificate has expired', async () => {
    const old = await ours.issue({
      subject: 'CN=temporal',
      usages: ['serverAuth'],
      names: ['127.0.0.1'],
      notAfter: new Date(1e12),
    })
    expect(await problem(await temporal(old), { ...trusted(), ...pair(client) })).toMatch(
      /its certificate \("CN=temporal"\) expired at 2001-09-09/,
    )
  })

  test('TLS where the server speaks none', async () => {
    const address = await listening(createHttp2())
    expect(await problem(address, trusted())).toContain('does not speak TLS, and TLS is on')
  })

  test('no TLS where the server wants it', async () => {
    const address = await listening(createTls({ ...server, ALPNProtocols: ['h2'] }))
    expect(await problem(address, false)).toContain('closes connections without TLS')
  })

  test('a server that accepts and says nothing', async () => {
    const address = await listening(createServer(() => {}))
    expect(await problem(address, false)).toContain('accepts connections and does not answer')
  })

  test('a port where nobody listens, and a name that nobody has', async () => {
    expect(await problem('127.0.0.1:1', false)).toContain('cannot be reached: connect ECONNREFUSED')
    expect(await problem('nowhere.invalid:7233', true)).toContain('cannot be reached: getaddrinfo')
  })
})

describe('is told by the server', () => {
  const token = (exp: number) => `x.${Buffer.from(JSON.stringify({ exp })).toString('base64url')}.y`
  const denied = Object.assign(new Error('7 PERMISSION_DENIED: Request unauthorized.'), { code: 7 })
  const missing = new Error('wrapped', { cause: Object.assign(new Error('no such namespace'), { code: 5 }) })

  test.each([
    ['an API key', { apiKey: 'k' }, denied, /refuses the API key: Request unauthorized.*check TEMPORAL_API_KEY/],
    [
      'an API key that has expired',
      { apiKey: token(1e9) },
      denied,
      /refuses the API key, which expired at 2001-09-09T01:46:40/,
    ],
    ['nobody', {}, denied, /refuses the caller: .*; give this identity the role "write"/],
    ['a namespace', {}, missing, /has no namespace "nodes"; temporal operator namespace create/],
  ])('%s', async (_what, options, error, expected) => {
    const load = () => ({ address: 'temporal:7233', tls: false, metadata: {}, ...options })
    const text = problemText(await explainTemporal({ load, address: 'temporal:7233', namespace: 'nodes' }, error))
    expect(text).toMatch(expected)
  })

  test('a file that cannot be read is all that is reported', async () => {
    const error = new TemporalFileError('TEMPORAL_TLS_CLIENT_KEY_PATH "/x": cannot be read')
    const load = () => {
      throw error
    }
    expect(problemText(await explainTemporal({ load, address: 'a:1', namespace: 'n' }, error))).toBe(error.message)
  })
})
