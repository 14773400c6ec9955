import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import tls from 'node:tls'
import { fileURLToPath } from 'node:url'
import { Agent, request } from 'undici'
import type { Fault } from '../../deploy/local/azure/admin/fault-shape.ts'
import type { Timing } from '../../deploy/local/azure/admin/settings.ts'
import type { ProcessConfig } from '../../deploy/local/azure/server/config.ts'
import { freePorts } from '../../deploy/local/free-ports.ts'
import { underLoad } from '../../deploy/local/machine-load.ts'
import { createPki, type Pki } from '../../deploy/local/pki.ts'
import { Supervisor } from '../../deploy/local/supervisor.ts'

/** Ids of the simulated subscription. */
export const ids = {
  subscriptionId: '00000000-0000-4000-8000-000000000001',
  tenantId: '00000000-0000-4000-8000-000000000002',
  clientId: '00000000-0000-4000-8000-000000000003',
  nodeResourceGroup: 'MC_test_joiner_westus2',
  location: 'westus2',
} as const

export const subnetId = `/subscriptions/${ids.subscriptionId}/resourceGroups/${ids.nodeResourceGroup}/providers/Microsoft.Network/virtualNetworks/aks-vnet-12345678/subnets/aks-subnet`

interface AdminState {
  readonly virtualMachines: readonly {
    readonly name: string
    readonly state: string
    readonly power: string
    readonly joins: boolean
  }[]
  readonly networkInterfaces: readonly string[]
  readonly disks: readonly string[]
}

/** What a simulator runs with. */
interface Started {
  readonly folder: string
  readonly port: number
  readonly supervisor: Supervisor
  readonly pki: Pki
  /** Its CA as PEM. */
  readonly ca: string
}

/** How long the simulator may take to listen, or a condition to come true, on a quiet machine. */
const deadlineMs = 20_000

/** A simulator in its own process, without a cluster: its VMs join nothing. This process trusts its CA, as NODE_EXTRA_CA_CERTS would make it. */
export class SimulatorProcess {
  readonly url: string
  /** File with the federated token that the SDK's workload identity reads. */
  readonly tokenFile: string
  readonly #folder: string
  readonly #configFile: string
  readonly #supervisor: Supervisor
  readonly #agent: Agent
  readonly #pki: Pki
  readonly #trusted: readonly string[]

  private constructor({ folder, port, supervisor, pki, ca }: Started) {
    this.#pki = pki
    this.#folder = folder
    this.url = `https://127.0.0.1:${port}`
    this.tokenFile = join(folder, 'federated-token')
    this.#configFile = join(folder, 'azure.json')
    this.#supervisor = supervisor
    this.#agent = new Agent({ connect: { ca } })
    this.#trusted = tls.getCACertificates('default')
    tls.setDefaultCACertificates([...this.#trusted, ca])
  }

  /** File with the CA that clients in other processes have to trust. */
  get caFile(): string {
    return this.#pki.caFile
  }

  /** `beside` shares its PKI: of two CAs of one name, OpenSSL takes either for the issuer of a certificate. */
  static async start(settings: Partial<ProcessConfig> = {}, beside?: SimulatorProcess): Promise<SimulatorProcess> {
    const folder = await mkdtemp(join(tmpdir(), 'joiner-azure-'))
    await mkdir(join(folder, 'logs'))
    const pki = beside === undefined ? await createPki(join(folder, 'pki')) : beside.#pki
    const supervisor = new Supervisor(join(folder, 'logs'), (name, reason) =>
      console.error(`${name} ended by itself: ${reason}`),
    )
    const [port = 0] = await freePorts(1)
    const ca = await readFile(pki.caFile, 'utf8')
    const simulator = new SimulatorProcess({ folder, port, supervisor, pki, ca })
    const config: ProcessConfig = {
      port,
      stateDir: join(folder, 'state'),
      certFile: pki.serverCertFile,
      keyFile: pki.serverKeyFile,
      ...ids,
      subnetId,
      clusterName: 'test',
      ...settings,
    }
    await writeFile(simulator.#configFile, JSON.stringify(config))
    await simulator.federate()
    await simulator.run()
    return simulator
  }

  /** Starts the process on its port, with the state that is on disk. */
  async run(): Promise<void> {
    const main = fileURLToPath(new URL('../../deploy/local/azure/main.ts', import.meta.url))
    this.#supervisor.start({ name: 'azure', command: process.execPath, args: [main, '--config', this.#configFile] })
    await this.until('the simulator listens', async () => (await this.state()) !== undefined)
  }

  /** `kill -9`. */
  kill(): Promise<void> {
    return this.#supervisor.kill('azure', 'SIGKILL')
  }

  async stop(): Promise<void> {
    await this.#supervisor.stopAll()
    await this.#agent.destroy()
    tls.setDefaultCACertificates([...this.#trusted])
    await rm(this.#folder, { recursive: true, force: true })
  }

  /** Writes the federated token as the kubelet projects it. Claims that are given replace good ones; text is written as it is. */
  async federate(
    claims: { readonly aud?: string; readonly exp?: number; readonly sub?: string } | string = {},
  ): Promise<void> {
    if (typeof claims === 'string') return writeFile(this.tokenFile, claims)
    const good = { aud: ['api://AzureADTokenExchange'], exp: Math.floor(Date.now() / 1000) + 3600 }
    const parts = [
      { alg: 'RS256', typ: 'JWT' },
      { ...good, ...claims },
    ].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    await writeFile(this.tokenFile, `${parts.join('.')}.c2lnbmF0dXJl`)
  }

  state(): Promise<AdminState> {
    return this.admin('GET', '/state')
  }

  /** Arrivals of requests that change a VM, those that were refused included. */
  journal(name: string): Promise<readonly { readonly atMs: number; readonly method: string; readonly name: string }[]> {
    return this.admin<{ atMs: number; method: string; name: string }[]>('GET', '/journal').then((entries) =>
      entries.filter((entry) => entry.name === name),
    )
  }

  /** Calls of VMs and what is below them, by VM and operation, since the last clearing. */
  callsByVm(): Promise<Readonly<Record<string, Readonly<Record<string, number>>>>> {
    return this.admin('GET', '/calls/vms')
  }

  calls(): Promise<Readonly<Record<string, number>>> {
    return this.admin('GET', '/calls')
  }

  fault(fault: Fault): Promise<void> {
    return this.admin('POST', '/faults', fault)
  }

  timing(timing: Timing): Promise<void> {
    return this.admin('POST', '/timing', timing)
  }

  happen(vm: string, action: 'evict' | 'delete' | 'stop' | 'freeze'): Promise<void> {
    return this.admin('POST', `/vms/${vm}/${action}`, {})
  }

  /** Ends every operation that is in flight, as its time would have. */
  finish(): Promise<void> {
    return this.admin('POST', '/operations/finish', {})
  }

  /** Takes every fault and delay away, and every VM. */
  async reset(): Promise<void> {
    await this.admin('DELETE', '/faults')
    await this.timing({ createMs: 0, bootMs: 0, updateMs: 0, deleteMs: 0 })
    for (const { name } of (await this.state()).virtualMachines) await this.happen(name, 'delete')
    await this.finish()
    await this.until('all VMs are gone', async () => (await this.state()).virtualMachines.length === 0)
  }

  /** Waits for a condition; a failing look counts as not yet. */
  async until(what: string, look: () => Promise<boolean>): Promise<void> {
    const startedAt = Date.now()
    for (;;) {
      const isSo = await look().catch(() => false)
      if (isSo) return
      const limit = underLoad(deadlineMs)
      if (Date.now() > startedAt + limit)
        throw new Error(`not within ${Math.round(limit / 1000)} s: ${what}\n${await this.#supervisor.tail('azure')}`)
      await new Promise((resolve) => setTimeout(resolve, 25))
    }
  }

  /** A request without the SDK. */
  async send(
    method: 'GET' | 'PUT' | 'POST' | 'DELETE',
    path: string,
    input: {
      readonly token?: string
      readonly body?: unknown
      readonly headers?: Readonly<Record<string, string>>
    } = {},
  ): Promise<{ readonly status: number; readonly body: unknown }> {
    const response = await request(`${this.url}${path}`, {
      method,
      dispatcher: this.#agent,
      headers: {
        ...input.headers,
        ...(input.token === undefined ? {} : { authorization: `Bearer ${input.token}` }),
        ...(input.body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(input.body === undefined ? {} : { body: JSON.stringify(input.body) }),
    })
    const text = await response.body.text()
    return { status: response.statusCode, body: text === '' ? undefined : JSON.parse(text) }
  }

  /** What GET of a path answers, as text. */
  async text(path: string): Promise<string> {
    return (await request(`${this.url}${path}`, { dispatcher: this.#agent })).body.text()
  }

  /** A request whose answer does not matter but for its status. */
  async raw(
    method: 'PUT' | 'DELETE',
    path: string,
    { token, body }: { readonly token: string; readonly body?: string },
  ): Promise<number> {
    const answer = await request(`${this.url}${path}`, {
      method,
      dispatcher: this.#agent,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body }),
    })
    await answer.body.dump()
    return answer.statusCode
  }

  /** A request to the admin endpoint. Errors: status and body of a refusal. */
  async admin<T>(method: 'GET' | 'POST' | 'DELETE', path: string, body?: unknown): Promise<T> {
    const answer = await this.send(method, `/admin${path}`, body === undefined ? {} : { body })
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
    return answer.body as T
  }
}
