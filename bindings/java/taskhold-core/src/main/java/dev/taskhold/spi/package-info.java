/** What a backend implements. Not for applications: it may change with every version. */
@NullMarked
package dev.taskhold.spi;

import org.jspecify.annotations.NullMarked;
