import { execFile } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { stringify } from 'yaml'
import { kubeconfig } from '../../deploy/local/kubernetes.ts'
import type { LocalCluster, Place } from '../../deploy/local/local-cluster.ts'
import type { nodeServers } from '../../deploy/local/server-versions.ts'
import type { Supervisor } from '../../deploy/local/supervisor.ts'
import { addresses, cable, nodeName } from './addresses.ts'
import { amongServers } from './cgroups.ts'
import { containerdConfig, kubeletConfig, podNetwork, proxyConfig } from './node-config.ts'
import { until } from './until.ts'

const run = promisify(execFile)

type NodeBinaries = Readonly<Record<(typeof nodeServers)[number], string>>

/** What the API server needs for a node that is not on the loopback interface. */
export const place: Place = {
  host: addresses.host,
  serverNames: [
    addresses.host,
    addresses.apiService,
    'kubernetes',
    'kubernetes.default',
    'kubernetes.default.svc.cluster.local',
  ],
  certificates: {
    kubelet: { subject: `O=system:nodes, CN=system:node:${nodeName}`, usages: ['clientAuth'] },
    'kubelet-serving': {
      subject: `O=system:nodes, CN=system:node:${nodeName}`,
      usages: ['serverAuth'],
      names: [nodeName, addresses.node],
    },
    'apiserver-kubelet': { subject: 'O=system:masters, CN=kube-apiserver', usages: ['clientAuth'] },
    'kube-proxy': { subject: 'CN=system:kube-proxy', usages: ['clientAuth'] },
  },
  apiserverArgs: (pki) => [
    `--advertise-address=${addresses.host}`,
    '--kubelet-preferred-address-types=InternalIP',
    `--kubelet-certificate-authority=${join(pki, 'ca.crt')}`,
    `--kubelet-client-certificate=${join(pki, 'apiserver-kubelet.crt')}`,
    `--kubelet-client-key=${join(pki, 'apiserver-kubelet.key')}`,
  ],
}

/** What the kubelet would set for the whole machine: how its kernel panics, hands out memory and keeps keys. */
const settingsOfKubelet = [
  'vm/overcommit_memory',
  'vm/panic_on_oom',
  'kernel/panic',
  'kernel/panic_on_oops',
  'kernel/keys/root_maxkeys',
  'kernel/keys/root_maxbytes',
]

/** Has what is written to a file, from then on, in another one. */
function standIn(file: string): string {
  const other = `/run/${file.replaceAll('/', '-')}`
  return `cp ${file} ${other} && mount --bind ${other} ${file}`
}

/**
 * A node with a real kubelet, in namespaces of its own: processes, mounts and network. With its first process the kernel ends all others, unmounts what
 * they mounted and removes their interfaces, and so does the end of the supervisor. Its /var/lib, /var/log and /run are none of the machine's: a
 * container runtime of the machine is neither seen nor touched.
 */
export class RealNode {
  readonly #supervisor: Supervisor
  readonly #binaries: NodeBinaries
  readonly #folder: string
  /** The first process inside. */
  #pid = 0

  constructor(supervisor: Supervisor, binaries: NodeBinaries, folder: string) {
    this.#supervisor = supervisor
    this.#binaries = binaries
    this.#folder = folder
  }

  /** Makes the namespaces, and the cable to this machine. From then on servers can listen on its address. */
  async plugIn(): Promise<void> {
    const lib = join(this.#folder, 'lib')
    const log = join(this.#folder, 'log')
    for (const folder of [lib, log, this.#configFolder]) await mkdir(folder, { recursive: true })
    const steps = [
      'mount --make-rshared /',
      'mount --bind "$0" /var/lib',
      'mount --bind "$1" /var/log',
      'mount -t tmpfs tmpfs /run',
      ...settingsOfKubelet.map((name) => standIn(`/proc/sys/${name}`)),
      'touch /run/mounted',
      // It waits for whoever loses its parent.
      'while sleep 3600 & wait $!; do :; done',
    ]
    const namespaces = [
      '--net',
      '--mount',
      '--pid',
      '--fork',
      '--kill-child',
      '--mount-proc',
      '--propagation',
      'private',
    ]
    const init = ['sh', '-c', steps.join(' && '), lib, log]
    this.#supervisor.start({ name: 'node', ...amongServers(['unshare', ...namespaces, '--', ...init]) })
    const outer = this.#supervisor.pids['node'] ?? 0
    await until('the namespaces of the node', 30_000, async () => {
      const children = await readFile(`/proc/${outer}/task/${outer}/children`, 'utf8').catch(() => '')
      this.#pid = Number(children.trim())
      return this.#pid > 0 && (await this.#isMounted())
    })
    await this.#connect()
  }

  async #isMounted(): Promise<boolean> {
    return readFile(`/proc/${this.#pid}/root/run/mounted`).then(
      () => true,
      () => false,
    )
  }

  async #connect(): Promise<void> {
    const ip = (...args: readonly string[]) => run('ip', [...args])
    await ip('link', 'add', cable, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', String(this.#pid))
    await ip('address', 'add', `${addresses.host}/24`, 'dev', cable)
    await ip('link', 'set', cable, 'up')
    await this.run('ip', ['link', 'set', 'lo', 'up'])
    await this.run('ip', ['address', 'add', `${addresses.node}/24`, 'dev', 'eth0'])
    await this.run('ip', ['link', 'set', 'eth0', 'up'])
    await this.run('ip', ['route', 'add', 'default', 'via', addresses.host])
    await this.run('sh', ['-c', 'echo 1 > /proc/sys/net/ipv4/ip_forward'])
    for (const range of [addresses.pods, addresses.services]) await ip('route', 'add', range, 'via', addresses.node)
  }

  /** Starts containerd, and takes these archives of images in. */
  async startContainerd(archives: readonly string[]): Promise<void> {
    const config = join(this.#configFolder, 'containerd.toml')
    await writeFile(config, containerdConfig(this.#configFolder))
    await writeFile(join(this.#configFolder, '10-pods.conflist'), JSON.stringify(podNetwork))
    this.#start('containerd', ['--config', config])
    const ctr = (...args: readonly string[]) => this.run(this.#binaries.ctr, ['--namespace', 'k8s.io', ...args])
    await until('containerd', 60_000, () => ctr('version').then(Boolean, () => false))
    for (const archive of archives) await ctr('images', 'import', archive)
  }

  /** Starts the kubelet and kube-proxy, which join this cluster. */
  async join({ server, pki }: LocalCluster): Promise<void> {
    const keys = dirname(pki.caFile)
    const file = (name: string) => join(this.#configFolder, name)
    const as = (name: 'kubelet' | 'kube-proxy') =>
      kubeconfig({
        server,
        caFile: pki.caFile,
        user: { 'client-certificate': join(keys, `${name}.crt`), 'client-key': join(keys, `${name}.key`) },
      })
    await writeFile(file('kubelet.kubeconfig'), as('kubelet'))
    await writeFile(file('kube-proxy.kubeconfig'), as('kube-proxy'))
    await writeFile(file('resolv.conf'), '')
    await writeFile(file('kubelet.yaml'), stringify(kubeletConfig(keys, file('resolv.conf'))))
    await writeFile(file('kube-proxy.yaml'), stringify(proxyConfig(file('kube-proxy.kubeconfig'))))
    const labels = ['kubernetes.azure.com/mode=system', 'topology.kubernetes.io/zone=westus2-1']
    this.#start('kubelet', [
      '--config',
      file('kubelet.yaml'),
      '--kubeconfig',
      file('kubelet.kubeconfig'),
      '--hostname-override',
      nodeName,
      '--node-ip',
      addresses.node,
      '--node-labels',
      labels.join(','),
    ])
    this.#start('kube-proxy', ['--config', file('kube-proxy.yaml')])
  }

  /** Runs a command inside. Errors: it fails. */
  async run(command: string, args: readonly string[]): Promise<string> {
    return (await run('nsenter', [...this.#inside, command, ...args], { maxBuffer: 16 * 1024 * 1024 })).stdout
  }

  #start(name: 'containerd' | 'kubelet' | 'kube-proxy', args: readonly string[]): void {
    const path = [dirname(this.#binaries['containerd-shim-runc-v2']), '/usr/sbin:/usr/bin:/sbin:/bin'].join(':')
    const server = amongServers(['nsenter', ...this.#inside, this.#binaries[name], ...args])
    this.#supervisor.start({ name, ...server, env: { PATH: path } })
  }

  get #inside(): readonly string[] {
    return ['--target', String(this.#pid), '--net', '--mount', '--pid', '--']
  }

  get #configFolder(): string {
    return join(this.#folder, 'config')
  }
}
