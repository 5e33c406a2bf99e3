# This application's own options; Zephyr's follow.
config SOLDER_LAYER_HOOK
	bool "Call solder_on_layer after each row that a layer has written"
	help
	  For measuring layer by layer. The model and the runtime are built with it, or both without it.

# Where the processor can tell that a stack is full, it shall.
config HW_STACK_PROTECTION
	default y
	depends on ARCH_HAS_STACK_PROTECTION

source "Kconfig.zephyr"
