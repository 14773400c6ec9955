import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, rename, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { Authority, type Issued } from '../../deploy/local/authority.ts'
import { freePorts } from '../../deploy/local/free-ports.ts'
import { type Progress, resolveBinaries } from '../../deploy/local/server-binaries.ts'
import type { Supervisor } from '../../deploy/local/supervisor.ts'
import { connectClient } from '../../starter/temporal/connect.ts'
import { readTemporalSettings, type TemporalSettings } from '../../starter/temporal/settings.ts'
import { searchAttributes } from '../../workflows/search-attributes.ts'
import { temporalServerSpec } from './server-spec.ts'

const namespace = 'nodes'

/** Files of a client, as Secrets are mounted: they may be written again at any time. */
export interface ClientFiles {
  readonly env: Readonly<Record<string, string>>
  putCertificate(certificate: Issued): Promise<void>
  putKey(apiKey: string): Promise<void>
}

interface Started {
  readonly address: string
  readonly folder: string
  /** Signs certificates of clients. */
  readonly clients: Authority
  /** Signs tokens. */
  readonly tokens: KeyObject
  /** Hands out the public key of tokens. */
  readonly keys: Server
}

/**
 * The whole Temporal server, which demands client certificates and a token with a role, and what hands out both. Its client authority can be replaced while
 * it runs.
 */
export class SecuredTemporal {
  readonly namespace = namespace
  readonly address: string
  readonly #folder: string
  readonly #tokens: KeyObject
  readonly #keys: Server
  #clients: Authority

  private constructor({ address, folder, clients, tokens, keys }: Started) {
    this.address = address
    this.#folder = folder
    this.#clients = clients
    this.#tokens = tokens
    this.#keys = keys
  }

  /** Starts it, with a namespace and the search attributes that an administrator makes. */
  static async start(folder: string, supervisor: Supervisor, progress: Progress): Promise<SecuredTemporal> {
    await mkdir(folder, { recursive: true })
    const { 'temporal-server': binary } = await resolveBinaries(['temporal-server'], progress)
    const own = await Authority.create('CN=temporal-ca')
    const server = await own.issue({
      subject: 'CN=localhost',
      usages: ['serverAuth', 'clientAuth'],
      names: ['127.0.0.1', 'localhost'],
    })
    const tls = {
      certFile: join(folder, 'server.crt'),
      keyFile: join(folder, 'server.key'),
      caFile: join(folder, 'server-ca.crt'),
      clientCaFile: join(folder, 'client-ca.crt'),
    }
    await Promise.all([
      writeFile(tls.certFile, server.cert),
      writeFile(tls.keyFile, server.key),
      writeFile(tls.clientCaFile, own.cert),
      writeFile(tls.caFile, own.cert),
    ])
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const keys = createServer((_request, response) => {
      response.end(JSON.stringify({ keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'one', alg: 'ES256' }] }))
    }).listen(0, '127.0.0.1')
    await once(keys, 'listening')
    const [port = 0] = await freePorts(1)
    const jwksUri = `http://127.0.0.1:${(keys.address() as AddressInfo).port}/`
    const secured = new SecuredTemporal({
      address: `localhost:${port}`,
      folder,
      clients: own,
      tokens: privateKey,
      keys,
    })
    supervisor.start(await temporalServerSpec({ binary, folder: join(folder, 'state'), port, tls, jwksUri }))
    await secured.#prepare()
    return secured
  }

  stop(): void {
    this.#keys.close()
  }

  /** A token with these permissions, such as `nodes:write`, that ends after some seconds (or has ended, when negative). */
  token(permissions: readonly string[], seconds = 3600): string {
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const exp = Math.floor(Date.now() / 1000) + seconds
    const text = `${part({ alg: 'ES256', typ: 'JWT', kid: 'one' })}.${part({ sub: 'joiner', permissions, exp })}`
    const signature = sign('sha256', Buffer.from(text), { key: this.#tokens, dsaEncoding: 'ieee-p1363' })
    return `${text}.${signature.toString('base64url')}`
  }

  /** A certificate of a client that the server lets in. */
  certificate(notAfter?: Date): Promise<Issued> {
    return this.#clients.issue({
      subject: 'CN=joiner',
      usages: ['clientAuth'],
      ...(notAfter === undefined ? {} : { notAfter }),
    })
  }

  /** From now on the server trusts clients of another authority only. It reads its files again within 2 s, and closes connections after 10 s. */
  async replaceClientAuthority(): Promise<void> {
    this.#clients = await Authority.create('CN=temporal-client-ca-2')
    const file = join(this.#folder, 'client-ca.crt')
    await writeFile(`${file}.tmp`, this.#clients.cert)
    await rename(`${file}.tmp`, file)
  }

  /** A folder with the files of one client, and the environment that names them. */
  async client(name: string, certificate: Issued, apiKey: string): Promise<ClientFiles> {
    const folder = join(this.#folder, name)
    await mkdir(folder, { recursive: true })
    const [cert, key, profile] = ['tls.crt', 'tls.key', 'temporal.toml'].map((file) => join(folder, file)) as [
      string,
      string,
      string,
    ]
    const files: ClientFiles = {
      env: {
        TEMPORAL_ADDRESS: this.address,
        TEMPORAL_NAMESPACE: namespace,
        TEMPORAL_TLS_SERVER_CA_CERT_PATH: join(this.#folder, 'server-ca.crt'),
        TEMPORAL_TLS_CLIENT_CERT_PATH: cert,
        TEMPORAL_TLS_CLIENT_KEY_PATH: key,
        TEMPORAL_CONFIG_FILE: profile,
        TEMPORAL_PROFILE: 'default',
      },
      putCertificate: async (next) => {
        await writeFile(cert, next.cert)
        await writeFile(key, next.key)
      },
      putKey: (apiKey) => writeFile(profile, `[profile.default]\napi_key = "${apiKey}"\n`),
    }
    await files.putCertificate(certificate)
    await files.putKey(apiKey)
    return files
  }

  async #prepare(): Promise<void> {
    const { env } = await this.client('administrator', await this.certificate(), this.token(['temporal-system:admin']))
    const settings = settingsOf(env)
    const deadline = Date.now() + 60_000
    for (;;) {
      try {
        const connection = await connectClient(settings)
        await connection.workflowService.registerNamespace({
          namespace,
          workflowExecutionRetentionPeriod: { seconds: 86_400 as never },
        })
        const added = Object.fromEntries(Object.values(searchAttributes).map(({ name }) => [name, 2]))
        await untilDone(deadline, () =>
          connection.operatorService.addSearchAttributes({ namespace, searchAttributes: added }),
        )
        return await connection.close()
      } catch (error) {
        if (Date.now() > deadline) throw error
        await new Promise((resolve) => setTimeout(resolve, 500))
      }
    }
  }
}

/** A namespace is known to all services some seconds after it was made. */
async function untilDone(deadline: number, work: () => Promise<unknown>): Promise<void> {
  for (;;) {
    try {
      await work()
      return
    } catch (error) {
      if (Date.now() > deadline) throw error
      await new Promise((resolve) => setTimeout(resolve, 500))
    }
  }
}

/** The settings of a client. */
export function settingsOf(env: Readonly<Record<string, string>>): TemporalSettings {
  const read = readTemporalSettings(env)
  if (read.kind === 'errors') throw new Error(read.errors.join('\n'))
  return read.settings
}
