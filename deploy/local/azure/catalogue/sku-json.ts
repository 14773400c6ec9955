/** A size as the SKUs API lists it. */
export interface SkuJson {
  readonly resourceType: string
  readonly name: string
  readonly family?: string
  readonly locations?: readonly string[]
  readonly locationInfo?: readonly {
    readonly location: string
    readonly zones?: readonly string[]
    readonly zoneDetails?: readonly unknown[]
  }[]
  readonly capabilities?: readonly { readonly name: string; readonly value: string }[]
  readonly restrictions?: readonly SkuRestriction[]
  readonly [key: string]: unknown
}

/** For whom a size is not sold: the whole location, or zones of it. */
export interface SkuRestriction {
  readonly type: string
  readonly restrictionInfo?: { readonly zones?: readonly string[] }
  readonly [key: string]: unknown
}
