/** The tests of the auto-configuration. */
@NullMarked
package dev.taskhold.spring;

import org.jspecify.annotations.NullMarked;
