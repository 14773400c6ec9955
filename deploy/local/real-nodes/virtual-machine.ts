import { execFile } from 'node:child_process'
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import { Authority } from '../authority.ts'
import type { MadeVm } from '../azure/admin/admin.ts'
import { usableKib } from '../azure/boot/node-object.ts'
import { type Provisioned, provision } from '../azure/boot/provision.ts'
import type { VmSize } from '../azure/catalogue/sku-catalogue.ts'
import { kubernetesVersions } from '../server-versions.ts'
import { podsOf, vmCable } from './addresses.ts'
import { BareNode, type NodeParts, standIn } from './bare-node.ts'
import { makeVmCgroups, removeVmCgroups, type VmCgroups } from './cgroups.ts'
import { imageNames } from './images.ts'
import { podNetwork } from './node-config.ts'
import { imageFiles, kubeletArguments, places } from './node-image.ts'

const run = promisify(execFile)

interface VmInput extends NodeParts {
  readonly name: string
  readonly made: MadeVm
  /** Its pods' range, and its cable. */
  readonly number: number
  /** What its image has of other images. */
  readonly archives: readonly string[]
}

/** What pods of our examples run. */
export const examplesImage = 'mcr.microsoft.com/oss/kubernetes/pause:3.6'

/** Architectures by what Node calls them. */
const architectures: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' }

/**
 * A VM of the simulator as a node with a real kubelet. All that this is told of Joiner is the body of the VM's PUT, whose custom data is read as a node
 * image reads it; of Azure it has the address, the cores and the memory.
 */
export class VirtualMachine {
  readonly made: MadeVm
  readonly bare: BareNode
  /** What its custom data came to. */
  readonly provisioned: Provisioned
  readonly #input: VmInput
  readonly #cgroups: VmCgroups

  private constructor(input: VmInput, cgroups: VmCgroups) {
    const { made, name, number } = input
    this.#input = input
    this.#cgroups = cgroups
    this.made = made
    this.provisioned = provision(made.body.properties.osProfile?.customData ?? '')
    this.bare = new BareNode({
      ...input,
      name,
      cgroups: cgroups.files,
      cgroupRoot: cgroups.root,
      cable: vmCable(number),
      address: this.address,
      pods: podsOf(number),
    })
  }

  /** Boots a VM until its kubelet is started; that it joins is another matter. Errors: why it cannot be booted on this machine. */
  static async boot(input: VmInput): Promise<VirtualMachine> {
    const reason = whyNotHere(input.made.size)
    if (reason !== undefined) throw new Error(reason)
    const vm = new VirtualMachine(input, await makeVmCgroups(input.name))
    await vm.#boot()
    return vm
  }

  /** Its address in the subnet. */
  get address(): string {
    return this.#input.made.addresses[0] ?? ''
  }

  async #boot(): Promise<void> {
    const { made, archives } = this.#input
    const { exitCode, output, environment, kubeletConfigFile, kubelet } = this.provisioned
    if (kubelet === undefined) throw new Error(`provisioning ended with ${exitCode}: ${output}`)
    if (environment['KUBERNETES_VERSION'] !== kubernetesVersions.newest)
      throw new Error(
        `it asks for Kubernetes ${environment['KUBERNETES_VERSION']}, and this machine's kubelet is another`,
      )
    await this.bare.plugIn([
      ...this.#cgroups.mounts,
      ...hardware(made.size),
      // What a node writes into /etc stays its own.
      'mkdir /run/etc /run/etc-work',
      'mount -t overlay overlay -o lowerdir=/etc,upperdir=/run/etc,workdir=/run/etc-work /etc',
      standIn('/proc/sys/kernel/random/boot_id', crypto.randomUUID()),
    ])
    const { cert, key } = await (await Authority.create(`CN=${this.bare.name}`)).issue({
      subject: `CN=${this.bare.name}`,
      usages: ['serverAuth'],
      names: [this.bare.name, this.address],
    })
    const files = imageFiles({ environment, kubeletConfigFile, serving: { cert, key } })
    for (const [path, { text, mode }] of Object.entries(files)) await this.write(path, text, mode)
    await this.bare.startContainerd(archives, places.cni)
    await this.bare.ctr('images', 'tag', imageNames.pause, examplesImage)
    const again = ['sh', '-c', 'while :; do "$@"; echo "kubelet ended with $?"; sleep 1; done', 'kubelet']
    // systemd starts a kubelet again that has ended.
    this.bare.start('kubelet', kubeletArguments(environment, this.address), again)
  }

  /** Writes a file of the node. */
  async write(path: string, text: string, mode = 0o644): Promise<void> {
    const file = this.bare.path(path)
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, text)
    await chmod(file, mode)
  }

  /** Gives its pods a network, as the CNI of the cluster does once the Node is there. */
  giveNetwork(): Promise<void> {
    return this.write(`${places.cni}/10-pods.conflist`, JSON.stringify(podNetwork(podsOf(this.#input.number))))
  }

  /** What its kubelet says in its log. */
  async log(): Promise<string> {
    return (await run('cat', [this.#input.supervisor.logFile(this.bare.serverName('kubelet'))])).stdout
  }

  /** Azure takes it away. */
  async powerOff(): Promise<void> {
    await this.bare.powerOff()
    await removeVmCgroups(this.bare.name)
  }
}

/** Why a VM of a size cannot be booted on this machine. Undefined: it can. */
export function whyNotHere({ name, arch, vCpus }: VmSize): string | undefined {
  const own = architectures[process.arch] ?? process.arch
  if (arch !== own) return `${name} is ${arch}, and this machine ${own}: its kubelet does not run here`
  if (vCpus > availableParallelism())
    return `${name} has more cores than this machine, and a kubelet hands out real ones`
  return undefined
}

/** Commands that have the kubelet count the cores and the memory of a size in place of this machine's. */
function hardware(size: VmSize): readonly string[] {
  const [cpus, node] = ['/run/hardware/cpu', '/run/hardware/node/node0']
  const numbers = Array.from({ length: size.vCpus }, (_, number) => number)
  const memory = `MemTotal: ${usableKib(size)} kB`
  return [
    standIn(
      '/proc/meminfo',
      `${memory}\nMemFree: 0 kB\nMemAvailable: ${usableKib(size)} kB\nSwapTotal: 0 kB\nSwapFree: 0 kB`,
    ),
    `mkdir -p ${cpus} ${node}/hugepages`,
    ...['online', 'possible', 'present'].map((file) => `echo 0-${size.vCpus - 1} > ${cpus}/${file}`),
    ...numbers.flatMap((number) => [
      `mkdir -p ${cpus}/cpu${number}/topology`,
      `echo ${number} > ${cpus}/cpu${number}/topology/core_id`,
      `echo 0 > ${cpus}/cpu${number}/topology/physical_package_id`,
      `ln -s /sys/devices/system/cpu/cpu${number} ${node}/cpu${number}`,
    ]),
    `echo 'Node 0 ${memory}' > ${node}/meminfo`,
    `mount --bind ${cpus} /sys/devices/system/cpu`,
    // A machine without memory of several speeds has none.
    'if [ -e /sys/devices/system/node ]; then mount --bind /run/hardware/node /sys/devices/system/node; fi',
  ]
}
