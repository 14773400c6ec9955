import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { seconds } from '../../bench/report.ts'
import { Authority } from '../../deploy/local/authority.ts'
import { connectClient, temporalClient } from '../../starter/temporal/connect.ts'
import type { World } from '../world.ts'
import { type ClientFiles, type SecuredTemporal, settingsOf } from './server.ts'

const pods = 5

export const parts = ['main', 'wrong', 'replaced', 'expiring'] as const
/** The main job; what is wrong from the start; a certificate that is replaced, and an API key that expires, while Joiner runs. */
type Part = (typeof parts)[number]

/** One client of Temporal after the other, each with its own Joiner process. */
export class Scenario {
  readonly rows: (readonly string[])[] = []
  readonly #world: World
  readonly #temporal: SecuredTemporal
  readonly #say: (text: string) => void
  #begun = 0

  constructor(world: World, temporal: SecuredTemporal, say: (text: string) => void) {
    this.#world = world
    this.#temporal = temporal
    this.#say = say
  }

  async run(parts: readonly Part[]): Promise<void> {
    if (parts.includes('main')) await this.#mainJob()
    if (parts.includes('wrong')) for (const wrong of await this.#wrongClients()) await this.#refused(wrong)
    if (parts.includes('replaced')) await this.#rotated()
    if (parts.includes('expiring')) await this.#keyThatExpires()
  }

  /** Pods become nodes and nodes go, by a caller that may write in the namespace and administer nothing. */
  async #mainJob(): Promise<void> {
    const files = await this.#client('main')
    await this.#start(files.env)
    await this.#world.untilReady('general')
    const upAtMs = Date.now()
    await this.#world.scale('inflate', pods)
    await this.#world.untilRunning(pods)
    const upMs = Date.now() - upAtMs
    const downAtMs = Date.now()
    await this.#world.scale('inflate', 0)
    await this.#world.untilNothingLeft()
    await this.#untilLivesEnded(files)
    this.#done(
      'main job, role "write" only',
      `${pods} pods ran after ${seconds(upMs)}, nothing was left after ${seconds(Date.now() - downAtMs)}`,
    )
    const status = await this.#world.joinerWith(files.env, 'status')
    if (!status.includes('waiting for pods')) throw new Error(`joiner status does not know the loops: ${status}`)
    this.#done('joiner status', 'reads it')
    await this.#stop()
  }

  async #wrongClients() {
    const temporal = this.#temporal
    const strangers = await Authority.create('CN=strangers')
    const strange = await strangers.issue({ subject: 'CN=joiner', usages: ['clientAuth'] })
    const otherCa = join(this.#world.cluster.stateDir, 'strangers.crt')
    await writeFile(otherCa, strangers.cert)
    const good = await temporal.certificate()
    const key = this.#key()
    const client = (name: string, certificate = good, apiKey = key) => temporal.client(name, certificate, apiKey)
    const expired = await temporal.certificate(new Date(Date.now() - 60_000))
    return [
      { what: 'expired client certificate', files: await client('expired', expired), says: 'it expired at' },
      {
        what: 'client certificate of another authority',
        files: await client('strange', strange),
        says: 'signed by \\"CN=strangers\\"',
      },
      {
        what: 'server of an authority that is not trusted',
        files: await client('untrusting'),
        env: { TEMPORAL_TLS_SERVER_CA_CERT_PATH: otherCa },
        says: 'which is not trusted',
      },
      {
        what: 'wrong server name',
        files: await client('misnamed'),
        env: { TEMPORAL_TLS_SERVER_NAME: 'temporal.example' },
        says: 'not for \\"temporal.example\\"',
      },
      {
        what: 'no client certificate',
        files: await client('bare'),
        env: { TEMPORAL_TLS_CLIENT_CERT_PATH: '', TEMPORAL_TLS_CLIENT_KEY_PATH: '' },
        says: 'demands a client certificate',
      },
      { what: 'wrong API key', files: await client('wrong-key', good, 'abc'), says: 'refuses the API key' },
      {
        what: 'expired API key',
        files: await client('old-key', good, temporal.token(['nodes:write'], -60)),
        says: 'refuses the API key, which expired at',
      },
      {
        what: 'API key of another namespace',
        files: await client('other-key', good, temporal.token(['others:write'])),
        says: 'refuses the API key',
      },
      {
        what: 'API key that may only read',
        files: await client('reader', good, temporal.token(['nodes:read'])),
        says: 'refuses the API key',
      },
    ]
  }

  /** Joiner says once what is wrong, stays, is not ready, and begins when the files are right where that is what was wrong. */
  async #refused({ what, files, env = {}, says }: Wrong): Promise<void> {
    const settings = { ...files.env, ...env }
    await this.#start(settings)
    const line = await this.#logged(says)
    const pid = this.#world.cluster.supervisor.pids['joiner']
    await new Promise((resolve) => setTimeout(resolve, 8000))
    const reported = await this.#lines('; trying again')
    if (reported.length !== 1) throw new Error(`${what}: told ${reported.length} times:\n${reported.join('\n')}`)
    const readiness = await this.#readiness()
    if (!/waiting for (temporal|workers): /.test(readiness)) throw new Error(`${what}: /readyz says ${readiness}`)
    const command = await this.#world.joinerWith(settings, 'status').then(
      () => 'no error',
      (error: unknown) => (error as { stderr: string }).stderr,
    )
    const plain = says.replaceAll('\\"', '"')
    // Who may read can read.
    if (!command.includes(plain) && !what.includes('only read'))
      throw new Error(`${what}: joiner status says ${command}`)
    let outcome = 'told once, stays, not ready'
    if (Object.keys(env).length === 0) {
      await files.putCertificate(await this.#temporal.certificate())
      await files.putKey(this.#key())
      await this.#logged('"started workers"')
      outcome += '; begins with the right files'
    }
    if (this.#world.cluster.supervisor.pids['joiner'] !== pid) throw new Error(`${what}: Joiner was restarted`)
    this.#done(what, outcome)
    this.#say(`  ${(JSON.parse(line) as { msg: string }).msg}`)
    await this.#stop()
  }

  /** The server turns to another authority while Joiner runs; Joiner works again once its files are replaced. */
  async #rotated(): Promise<void> {
    const files = await this.#client('rotated')
    await this.#start(files.env)
    await this.#logged('"started workers"')
    const pid = this.#world.cluster.supervisor.pids['joiner']
    await this.#temporal.replaceClientAuthority()
    await this.#logged('refuses the client certificate', 120_000)
    const replacedAtMs = Date.now()
    await files.putCertificate(await this.#temporal.certificate())
    await this.#logged('reconnected to Temporal with changed credentials')
    const tookMs = Date.now() - replacedAtMs
    await this.#scaleOnce(pid)
    this.#done('client certificate replaced while Joiner runs', `taken up after ${seconds(tookMs)}, same process`)
    await this.#stop()
  }

  /**
   * A token ends while Joiner runs. One that is replaced soon is taken up. Without that the workers fail after a minute, the process ends, and the one
   * after it waits for a token that is let in.
   */
  async #keyThatExpires(): Promise<void> {
    const files = await this.#client('short', 45)
    await this.#start(files.env)
    await this.#logged('"started workers"')
    const pid = this.#world.cluster.supervisor.pids['joiner']
    await this.#logged('refuses the API key, which expired at', 120_000)
    const replacedAtMs = Date.now()
    await files.putKey(this.#key(45))
    await this.#logged('reconnected to Temporal with changed credentials')
    const tookMs = Date.now() - replacedAtMs
    await this.#scaleOnce(pid)
    this.#done('API key that is replaced after its end', `told once; taken up after ${seconds(tookMs)}, same process`)
    const isGone = async () => this.#world.cluster.supervisor.pids['joiner'] === undefined
    await this.#world.until('Joiner has ended', isGone, 240_000)
    await this.#logged('workers ended because Temporal refused them')
    await this.#start(files.env)
    await this.#logged('refuses the API key, which expired at')
    const next = this.#world.cluster.supervisor.pids['joiner']
    await files.putKey(this.#key())
    await this.#logged('"started workers"')
    await this.#scaleOnce(next)
    const reported = await this.#lines('refuses the API key')
    if (reported.length !== 1) throw new Error(`told ${reported.length} times:\n${reported.join('\n')}`)
    this.#done('API key that ends and stays', 'one restart; then told once, waits, and begins with the next key')
    await this.#stop()
  }

  async #scaleOnce(pid: number | undefined): Promise<void> {
    await this.#world.scale('inflate', 1)
    await this.#world.untilRunning(1)
    await this.#world.scale('inflate', 0)
    await this.#world.untilNothingLeft()
    if (this.#world.cluster.supervisor.pids['joiner'] !== pid) throw new Error('Joiner was restarted')
  }

  #key(seconds = 3600): string {
    return this.#temporal.token([`${this.#temporal.namespace}:write`], seconds)
  }

  async #client(name: string, keySeconds = 3600): Promise<ClientFiles> {
    return this.#temporal.client(name, await this.#temporal.certificate(), this.#key(keySeconds))
  }

  async #untilLivesEnded(files: ClientFiles): Promise<void> {
    const settings = settingsOf(files.env)
    const connection = await connectClient(settings)
    const client = temporalClient(connection, settings)
    const count = async (query: string) =>
      (await client.workflow.count(`WorkflowType = 'nodeClaimLifecycle'${query}`)).count
    await this.#world.until('every lifecycle has ended', async () => {
      return (await count('')) > 0 && (await count(" AND ExecutionStatus = 'Running'")) === 0
    })
    await connection.close()
  }

  async #start(env: Readonly<Record<string, string>>): Promise<void> {
    this.#begun = (await this.#all()).length
    this.#world.startJoiner('joiner', { JOINER_RESYNC_INTERVAL: '10s', ...env })
  }

  #stop(): Promise<unknown> {
    return this.#world.cluster.supervisor.stop('joiner')
  }

  async #all(): Promise<readonly string[]> {
    return (await this.#world.cluster.supervisor.tail('joiner', 100_000)).split('\n')
  }

  /** What this Joiner has logged that has a text in it. */
  async #lines(text: string): Promise<readonly string[]> {
    return (await this.#all()).slice(this.#begun).filter((line) => line.includes(text))
  }

  #logged(text: string, ms?: number): Promise<string> {
    return this.#world.until(`the log has "${text}"`, async () => (await this.#lines(text))[0], ms)
  }

  async #readiness(): Promise<string> {
    const [line = '{}'] = await this.#lines('serving health and metrics')
    return (await fetch(`${(JSON.parse(line) as { address: string }).address}/readyz`)).text()
  }

  #done(what: string, outcome: string): void {
    this.rows.push([what, outcome])
    this.#say(`${what}: ${outcome}`)
  }
}

interface Wrong {
  readonly what: string
  readonly files: ClientFiles
  /** What is wrong in the environment, and not in the files. */
  readonly env?: Readonly<Record<string, string>>
  /** A piece of what is logged. */
  readonly says: string
}
