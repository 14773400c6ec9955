import { execFile } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import type { nodeServers } from '../server-versions.ts'
import type { Supervisor } from '../supervisor.ts'
import { addresses } from './addresses.ts'
import { inCgroups } from './cgroups.ts'
import { containerdConfig } from './node-config.ts'
import { until } from './until.ts'

const run = promisify(execFile)

type NodeBinaries = Readonly<Record<(typeof nodeServers)[number], string>>

/** What runs in a node beside its pods. */
type NodeServer = 'containerd' | 'kubelet' | 'kube-proxy'

/** What the nodes of a stage share. */
export interface NodeParts {
  readonly supervisor: Supervisor
  readonly binaries: NodeBinaries
  /** Where each has a folder. */
  readonly folder: string
}

interface BareNodeInput extends NodeParts {
  /** Its host name; the names of its processes begin with it. */
  readonly name: string
  /** Files by which a process joins its cgroups. */
  readonly cgroups: readonly string[]
  /** Files by which its first process joins what all of them see as the root of cgroups. Absent: they see those of the machine. */
  readonly cgroupRoot?: readonly string[]
  readonly cable: string
  readonly address: string
  readonly pods: string
}

/** Namespaces of each node. */
const kinds = ['--net', '--mount', '--pid', '--uts'] as const

/** What the kubelet would set for the whole machine, with what AKS has it set to. */
const settingsOfKubelet: Readonly<Record<string, number>> = {
  'vm/overcommit_memory': 1,
  'vm/panic_on_oom': 0,
  'kernel/panic': 10,
  'kernel/panic_on_oops': 1,
  'kernel/keys/root_maxkeys': 1_000_000,
  'kernel/keys/root_maxbytes': 25_000_000,
}

/** A command of the first process that has a file contain a text from then on. The machine's own file stays as it is. */
export function standIn(file: string, text: string | number): string {
  const other = `/run/${file.replaceAll('/', '-')}`
  return `echo '${text}' > ${other} && mount --bind ${other} ${file}`
}

/**
 * What a node is before it has a kubelet: namespaces of its own for processes, mounts, network and host name, a cable to this machine, and containerd. With
 * its first process the kernel ends all others, unmounts what they mounted and removes their interfaces, and so does the end of the supervisor. Its
 * /var/lib, /var/log and /run are none of the machine's: a container runtime of the machine is neither seen nor touched.
 */
export class BareNode {
  readonly name: string
  readonly #input: BareNodeInput
  readonly #folder: string
  readonly #servers: string[] = []
  /** The first process inside. */
  #pid = 0

  constructor(input: BareNodeInput) {
    this.name = input.name
    this.#input = input
    this.#folder = join(input.folder, input.name)
  }

  /** Makes the namespaces, and the cable. From then on servers of this machine can listen on its end. `steps`: more of what the first process does before it rests. */
  async plugIn(steps: readonly string[] = []): Promise<void> {
    const { supervisor, cgroups, cgroupRoot } = this.#input
    const lib = join(this.#folder, 'lib')
    const log = join(this.#folder, 'log')
    for (const folder of [lib, log, this.configFolder]) await mkdir(folder, { recursive: true })
    const all = [
      'mount --make-rshared /',
      'mount --bind "$0" /var/lib',
      'mount --bind "$1" /var/log',
      'mount -t tmpfs tmpfs /run',
      `hostname ${this.name}`,
      ...Object.entries(settingsOfKubelet).map(([file, value]) => standIn(`/proc/sys/${file}`, value)),
      ...steps,
      'touch /run/mounted',
      // It waits for whoever loses its parent.
      'while sleep 3600 & wait $!; do :; done',
    ]
    const separate = [...kinds, '--fork', '--kill-child', '--mount-proc', '--propagation', 'private']
    const first = inCgroups(cgroups, ['unshare', ...separate, '--', 'sh', '-c', all.join(' && '), lib, log])
    const start =
      cgroupRoot === undefined
        ? first
        : inCgroups(cgroupRoot, ['unshare', '--cgroup', '--', first.command, ...first.args])
    supervisor.start({ name: this.name, ...start })
    this.#servers.push(this.name)
    const outer = supervisor.pids[this.name] ?? 0
    await until(`the namespaces of ${this.name}`, 30_000, async () => {
      const children = await readFile(`/proc/${outer}/task/${outer}/children`, 'utf8').catch(() => '')
      this.#pid = Number(children.trim())
      return this.#pid > 0 && (await this.#isMounted())
    })
    await this.#connect()
  }

  #isMounted(): Promise<boolean> {
    return readFile(this.path('/run/mounted')).then(
      () => true,
      () => false,
    )
  }

  async #connect(): Promise<void> {
    const { cable, address, pods } = this.#input
    const ip = (...args: readonly string[]) => run('ip', [...args])
    await ip('link', 'add', cable, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', String(this.#pid))
    await ip('address', 'add', addresses.host, 'peer', address, 'dev', cable)
    await ip('link', 'set', cable, 'up')
    // Pods of one node reach those of another by way of this machine.
    await writeFile(`/proc/sys/net/ipv4/conf/${cable}/forwarding`, '1')
    await this.run('ip', ['link', 'set', 'lo', 'up'])
    await this.run('ip', ['address', 'add', address, 'peer', addresses.host, 'dev', 'eth0'])
    await this.run('ip', ['link', 'set', 'eth0', 'up'])
    await this.run('ip', ['route', 'add', 'default', 'via', addresses.host])
    await this.run('sh', ['-c', 'echo 1 > /proc/sys/net/ipv4/ip_forward'])
    await ip('route', 'add', pods, 'via', address)
  }

  /** Starts containerd, and takes these archives of images in. `cniFolder`: where it looks for the network of pods. */
  async startContainerd(archives: readonly string[], cniFolder: string): Promise<void> {
    const config = join(this.configFolder, 'containerd.toml')
    await writeFile(config, containerdConfig(cniFolder))
    this.start('containerd', ['--config', config])
    await until(`containerd of ${this.name}`, 60_000, () => this.ctr('version').then(Boolean, () => false))
    for (const archive of archives) await this.ctr('images', 'import', archive)
  }

  /** Runs containerd's command line, about what Kubernetes has there. Errors: it fails. */
  ctr(...args: readonly string[]): Promise<string> {
    return this.run(this.#input.binaries.ctr, ['--namespace', 'k8s.io', ...args])
  }

  /** Runs a command inside. Errors: it fails. */
  async run(command: string, args: readonly string[]): Promise<string> {
    return (await run('nsenter', [...this.#inside, command, ...args], { maxBuffer: 16 * 1024 * 1024 })).stdout
  }

  /** Starts a server inside. `before`: what starts it. */
  start(binary: NodeServer, args: readonly string[], before: readonly string[] = []): void {
    const { supervisor, binaries, cgroups } = this.#input
    const path = [dirname(binaries['containerd-shim-runc-v2']), '/usr/sbin:/usr/bin:/sbin:/bin'].join(':')
    const name = this.serverName(binary)
    const command = inCgroups(cgroups, ['nsenter', ...this.#inside, ...before, binaries[binary], ...args])
    supervisor.start({ name, ...command, env: { PATH: path } })
    this.#servers.push(name)
  }

  /** Name of a server inside, as its log has it. */
  serverName(binary: NodeServer): string {
    return `${this.name}-${binary}`
  }

  /** Path on this machine of a file inside. */
  path(file: string): string {
    return `/proc/${this.#pid}/root${file}`
  }

  /** Takes the current from it: all its processes end at once. */
  async powerOff(): Promise<void> {
    await Promise.all(this.#servers.map((name) => this.#input.supervisor.kill(name, 'SIGKILL')))
  }

  get configFolder(): string {
    return join(this.#folder, 'config')
  }

  get #inside(): readonly string[] {
    const cgroup = this.#input.cgroupRoot === undefined ? [] : ['--cgroup']
    return ['--target', String(this.#pid), ...kinds, ...cgroup, '--']
  }
}
