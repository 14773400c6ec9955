import { execFile } from 'node:child_process'
import { globSync } from 'node:fs'
import { chown, cp, mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { librariesIn, type Progress, resolvePackaged } from '../../deploy/local/debian/packages.ts'
import type { Supervisor } from '../../deploy/local/supervisor.ts'

const run = promisify(execFile)

/** Where Debian installs it, below its root. */
const programs = 'usr/lib/postgresql/*/bin'
/** PostgreSQL refuses to run as root: it runs as `nobody` then. */
const nobody = 65_534
const isRoot = process.getuid?.() === 0
/** Connections that the smallest Azure Database for PostgreSQL (B1ms) has, and those that it keeps for itself. */
const azureConnections = { all: 50, reserved: 15 } as const
const diskMegabytes = 320

interface Installed {
  /** Folder with initdb and postgres, and with psql unless a package of this machine has it on the PATH. */
  readonly bin: string
  readonly env: Readonly<Record<string, string>>
}

/** A PostgreSQL of its own, with as many connections as the smallest of Azure, on a disk of its own where that can be had: as root, on Linux. */
export class Postgres {
  readonly #supervisor: Supervisor
  readonly #installed: Installed
  readonly #folder: string
  readonly #port: number

  private constructor(supervisor: Supervisor, installed: Installed, { folder, port }: Place) {
    this.#supervisor = supervisor
    this.#installed = installed
    this.#folder = folder
    this.#port = port
  }

  /** Finds it, or unpacks Debian's package into the cache, and starts it in an empty folder that anybody may enter. */
  static async start(supervisor: Supervisor, place: Place, progress: Progress): Promise<Postgres> {
    const installed = await install(place.folder, progress)
    const disk = join(place.folder, 'disk')
    await mkdir(disk, { recursive: true })
    const postgres = new Postgres(supervisor, installed, place)
    if (isRoot) {
      await chown(disk, nobody, nobody)
      // The disk is seen in the namespace of this process alone, and is gone with it.
      const mount = `mount -t tmpfs -o size=${diskMegabytes}m,uid=${nobody},gid=${nobody},mode=700 tmpfs ${disk}`
      const args = [
        '--mount',
        '--propagation',
        'private',
        'sh',
        '-c',
        `${mount} && echo mounted && exec sleep infinity`,
      ]
      supervisor.start({ name: 'postgres-disk', command: 'unshare', args })
      await until('the disk is mounted', async () => (await supervisor.tail('postgres-disk')).includes('mounted'))
    }
    await postgres.#run('initdb', ['--pgdata', join(disk, 'data'), '--username', 'temporal', '--auth', 'trust'])
    await postgres.begin()
    return postgres
  }

  /** Whether it has a disk of its own, which can be full. */
  get hasDisk(): boolean {
    return isRoot
  }

  async begin(): Promise<void> {
    const settings = {
      port: this.#port,
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      max_connections: azureConnections.all,
      superuser_reserved_connections: azureConnections.reserved,
      // The disk is small.
      max_wal_size: '64MB',
      min_wal_size: '32MB',
    }
    const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    const [command = '', ...args] = this.#inside('postgres', ['-D', join(this.#folder, 'disk', 'data'), ...options])
    this.#supervisor.start({ name: 'postgres', command, args, env: this.#installed.env })
    await until('PostgreSQL answers', async () => (await this.query('select 1')) === '1')
  }

  /** `kill -9` of its main process; the others end with it. */
  kill(): Promise<void> {
    return this.#supervisor.kill('postgres', 'SIGKILL')
  }

  get runs(): boolean {
    return this.#supervisor.pids['postgres'] !== undefined
  }

  /** Fills its disk to the last byte. Errors: a byte can be written still. */
  async fill(): Promise<void> {
    const write = ['if=/dev/zero', `of=${this.#ballast}`, 'oflag=append', 'conv=notrunc']
    for (const size of ['1M', '4k']) await this.#run('dd', [...write, `bs=${size}`]).catch(() => undefined)
    await this.#run('dd', [...write, 'bs=4k', 'count=1']).then(
      () => Promise.reject(new Error('the disk of PostgreSQL is not full')),
      () => undefined,
    )
  }

  async free(): Promise<void> {
    await this.#run('rm', ['-f', this.#ballast])
  }

  /** What its databases for Temporal hold, in bytes: now, and when what is dead is gone, which it is afterwards. */
  async sizes(): Promise<{ readonly bytes: number; readonly live: number }> {
    const databases = (await this.query("select datname from pg_database where datname like 'temporal%'")).split('\n')
    const size = () =>
      this.query("select sum(pg_database_size(datname)) from pg_database where datname like 'temporal%'")
    const bytes = Number(await size())
    for (const database of databases) await this.query('vacuum full', database)
    return { bytes, live: Number(await size()) }
  }

  /** Returns rows as psql prints them, without heads. Errors: PostgreSQL's. */
  async query(sql: string, database = 'postgres'): Promise<string> {
    const at = ['--host', '127.0.0.1', '--port', String(this.#port), '--username', 'temporal', '--dbname', database]
    const { bin, env } = this.#installed
    const [own] = globSync(join(bin, 'psql'))
    const options = { env: { ...process.env, ...env }, timeout: 10_000 }
    return (await run(own ?? 'psql', [...at, '--no-align', '--tuples-only', '--command', sql], options)).stdout.trim()
  }

  get #ballast(): string {
    return join(this.#folder, 'disk', 'ballast')
  }

  /** A command beside it: with its disk, and not as root. */
  #inside(program: string, args: readonly string[]): readonly string[] {
    const own = ['initdb', 'postgres'].includes(program) ? join(this.#installed.bin, program) : program
    if (!isRoot) return [own, ...args]
    const disk = String(this.#supervisor.pids['postgres-disk'])
    const user = ['setpriv', `--reuid=${nobody}`, `--regid=${nobody}`, '--clear-groups']
    return ['nsenter', '--target', disk, '--mount', ...user, own, ...args]
  }

  async #run(program: string, args: readonly string[]): Promise<void> {
    const [command = '', ...rest] = this.#inside(program, args)
    await run(command, rest, { env: { ...process.env, ...this.#installed.env }, cwd: '/' })
  }
}

interface Place {
  readonly folder: string
  readonly port: number
}

async function install(folder: string, progress: Progress): Promise<Installed> {
  const newest = (root: string) => globSync(programs, { cwd: root }).toSorted().at(-1)
  const own = newest('/')
  if (own !== undefined) return { bin: join('/', own), env: {} }
  const { executable, env } = await resolvePackaged(
    {
      name: 'postgresql',
      packages: ['postgresql'],
      megabytes: 60,
      versionArgs: ['--version'],
      remedy: 'install it (apt-get install postgresql)',
      unpacked: (root) => ({
        executable: join(root, newest(root) ?? '', 'postgres'),
        env: { LD_LIBRARY_PATH: librariesIn(root) },
      }),
    },
    progress,
  )
  const bin = dirname(executable)
  if (!isRoot) return { bin, env }
  // `nobody` may not look into the cache of root.
  const root = join(bin, '../../../../..')
  const copy = join(folder, 'postgresql')
  await cp(root, copy, { recursive: true, verbatimSymlinks: true })
  return { bin: join(copy, newest(copy) ?? ''), env: { LD_LIBRARY_PATH: librariesIn(copy) } }
}

/** Waits for a condition; a look that fails counts as not yet. Errors: it did not come within two minutes. */
export async function until(what: string, look: () => Promise<boolean>, ms = 120_000): Promise<void> {
  const deadline = Date.now() + ms
  for (;;) {
    if (await look().catch(() => false)) return
    if (Date.now() > deadline) throw new Error(`${what}: not within ${ms / 1000} s`)
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
}
