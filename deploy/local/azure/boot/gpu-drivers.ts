/** A driver as the node image knows it, in `components.json`. */
interface GpuDriver {
  readonly type: string
  readonly version: string
  readonly image: string
}

const drivers: readonly (readonly [sizes: RegExp, driver: GpuDriver])[] = [
  [/^standard_nc\d+l?ds_xl_rtxpro6000bse_v6$/, { type: 'grid-v20', version: '595.58.03', image: '20260609172331' }],
  [/^standard_n(v\d+ad(m)?s_a10_v5|c\d+ads_a10_v4)$/, { type: 'grid', version: '570.211.01', image: '20260522192315' }],
  [/^standard_nc(?!.*_v)/, { type: 'cuda', version: '470.82.01', image: '20260629214430' }],
  [/^/, { type: 'cuda-lts', version: '580.159.04', image: '20260629214430' }],
]

/** The NVIDIA driver of a size. Sizes without a GPU have one as well; nothing on the node uses it (reference/bootstrap.md 7). */
export function gpuDriver(vmSize: string): GpuDriver {
  const size = vmSize.toLowerCase()
  const found = drivers.find(([sizes]) => sizes.test(size))
  if (found === undefined) throw new Error(`no driver for VM size "${vmSize}"`)
  return found[1]
}

/** Sizes of eight boards, whose links need NVIDIA's fabric manager. */
const fabricSizes =
  /^standard_nd(96asr_v4|96ams_v4|96ams_a100_v4|(112|120)asr_a100_v4|(96|112|120)amsr_a100_v4|(46|48|50)s_h100_v5|(92|96|100)isr?_h100_v5|96is(r|rf)?_h200_v5)$/

/** Whether the size's boards are linked through switches. */
export function needsFabricManager(vmSize: string): boolean {
  return fabricSizes.test(vmSize.toLowerCase())
}
