// Loaded before Joiner by benchmarks that measure Joiner: Azure's documented limits of requests (200 launches at once, 10 a second after that) would
// be what is measured. The simulator has no limits unless it is told to.
import { type ArmBucket, armLimits } from '../../activities/azure/arm/arm-limits.ts'

const limits: Record<ArmBucket, { burst: number; perSecond: number }> = armLimits
for (const limit of Object.values(limits)) Object.assign(limit, { burst: 100_000, perSecond: 10_000 })
